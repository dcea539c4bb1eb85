/// What room a volume must keep, and when downloads that wait for room go on.
package enum RoomPolicy {
    /// The most that is kept free on a volume.
    package static let maxFloorByteCount: Int64 = 64 << 20
    /// What a download of unknown length needs at least to go on.
    package static let minNeedByteCount: Int64 = 128 << 10
    /// The longest wait between two looks at a volume's room.
    package static let maxLookMilliseconds: Int64 = 10_000
    /// The longest wait between two tries, where looks do not tell.
    package static let maxTryMilliseconds: Int64 = 60_000

    /// The bytes that downloads leave free on a volume of that size: a hundredth, at most 64 MiB.
    ///
    /// The state's records, the logs and the user's own files need room just when a disk is nearly full.
    package static func floorByteCount(ofVolume totalByteCount: Int64) -> Int64 {
        min(max(0, totalByteCount) / 100, maxFloorByteCount)
    }

    /// What a download needs to go on, besides the floor.
    ///
    /// - Parameters:
    ///   - total: its length; nil while unknown.
    ///   - held: what it has on the disk already.
    ///   - isReserved: all of its room is its own already.
    package static func neededByteCount(total: Int64?, held: Int64, isReserved: Bool) -> Int64 {
        if isReserved { return 0 }
        guard let total else { return minNeedByteCount }
        return max(0, total - held)
    }

    /// How long to wait before the next look at a volume: 1, 2, 4 s and so on.
    ///
    /// - Parameters:
    ///   - lookCount: the looks since it was found full.
    ///   - isBlind: what it says of its room is not to be believed, so that each look costs a request.
    package static func delayMilliseconds(lookCount: Int, isBlind: Bool) -> Int64 {
        let limit = isBlind ? maxTryMilliseconds : maxLookMilliseconds
        return min(1_000 << Int64(min(max(0, lookCount), 16)), limit)
    }

    /// Which of those that wait may go on, in their order, as places in `needs`.
    ///
    /// One that does not fit holds up nobody: a file larger than the disk would hold up all others for ever.
    ///
    /// - Parameters:
    ///   - spare: the room above the floor; nil where it is not known.
    ///   - isBlind: let one go on only, to find out.
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
