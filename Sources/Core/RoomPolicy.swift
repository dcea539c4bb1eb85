/// How much space a volume must keep free, and when downloads that wait for space resume.
package enum RoomPolicy {
    /// The most that is kept free on a volume.
    package static let maxFloorByteCount: Int64 = 64 << 20
    /// The space that a download of unknown length needs to resume.
    package static let minNeedByteCount: Int64 = 128 << 10
    /// The longest wait between two checks of a volume's free space.
    package static let maxLookMilliseconds: Int64 = 10_000
    /// The longest wait between two tries where checks do not help.
    package static let maxTryMilliseconds: Int64 = 60_000

    /// The bytes that downloads leave free on a volume of that size: 1 %, at most 64 MiB.
    ///
    /// The state database, logs and the user's own files need that space when a disk is nearly full.
    package static func floorByteCount(ofVolume totalByteCount: Int64) -> Int64 {
        min(max(0, totalByteCount) / 100, maxFloorByteCount)
    }

    /// The space that a download needs to resume, besides the floor.
    ///
    /// - Parameters:
    ///   - total: its length; nil while unknown.
    ///   - held: its bytes on the disk.
    ///   - isReserved: all of its space is already reserved.
    package static func neededByteCount(total: Int64?, held: Int64, isReserved: Bool) -> Int64 {
        if isReserved { return 0 }
        guard let total else { return minNeedByteCount }
        return max(0, total - held)
    }

    /// How long to wait before the next check of a volume: 1, 2, 4 s and so on.
    ///
    /// - Parameters:
    ///   - lookCount: the checks since it was found full.
    ///   - isBlind: its free space cannot be trusted, so that each check costs a request.
    package static func delayMilliseconds(lookCount: Int, isBlind: Bool) -> Int64 {
        let limit = isBlind ? maxTryMilliseconds : maxLookMilliseconds
        return min(1_000 << Int64(min(max(0, lookCount), 16)), limit)
    }

    /// Which of the waiting downloads may resume, in order, as indices into `needs`.
    ///
    /// One that does not fit is skipped: a file larger than the disk would block all others forever.
    ///
    /// - Parameters:
    ///   - spare: the space above the floor; nil when unknown.
    ///   - isBlind: let only one resume, to find out.
    package static func admitted(needs: some Sequence<Int64>, spare: Int64?, isBlind: Bool) -> [Int] {
        var left = spare ?? Limits.fileByteCount
        var places: [Int] = []
        for (place, need) in needs.enumerated() {
            if left <= 0 { break }
            guard need <= left else { continue }
            places.append(place)
            left -= need
            if isBlind || spare == nil { break }
        }
        return places
    }
}
