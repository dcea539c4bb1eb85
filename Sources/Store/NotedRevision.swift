internal import Platform

/// The last committed revision, stored in `state.lock` next to the database.
///
/// It is written after the commit and never synced. So this revision was certainly stored, and a database with a lower
/// one has lost data. Three little-endian words: format, revision, checksum.
extension StateDirectory {
    private static let format: UInt64 = 0x3156_4552_4c57_5420

    /// Nil if nothing valid is noted.
    func notedRevision() -> Int64? {
        guard let bytes = try? readLock(count: 24), bytes.count == 24 else { return nil }
        let words = stride(from: 0, to: 24, by: 8).map { start in
            bytes[start..<start + 8].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        }
        guard words[0] == Self.format, words[2] == Self.checksum(words[1]) else { return nil }
        let revision = Int64(bitPattern: words[1])
        return (0...StoreLimits.maxRevision).contains(revision) ? revision : nil
    }

    /// Two processes may write in the wrong order: then a lower revision is noted, and less is detected.
    func noteRevision(_ revision: Int64) {
        let word = UInt64(bitPattern: revision)
        let bytes = [Self.format, word, Self.checksum(word)].flatMap { word in
            stride(from: UInt64(0), to: 64, by: 8).map { UInt8(truncatingIfNeeded: word >> $0) }
        }
        try? writeLock(bytes)
    }

    private static func checksum(_ word: UInt64) -> UInt64 {
        let hash = (word ^ format) &* 0x9e37_79b9_7f4a_7c15
        return hash ^ hash >> 32
    }
}
