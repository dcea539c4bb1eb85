/// Finds the name that a misspelled word probably means.
enum Spelling {
    /// The nearest name within two edits (one for short words); nil if there is none.
    static func nearest(to word: String, in names: some Sequence<String>) -> String? {
        // A long word is no typing error; this also limits the work.
        if word.utf8.count > 40 { return nil }
        let limit = word.utf8.count < 4 ? 1 : 2
        var best: (name: String, distance: Int)?
        for name in names {
            let distance = distance(Array(word.utf8), Array(name.utf8))
            if distance <= limit, distance < best?.distance ?? .max { best = (name, distance) }
        }
        return best?.name
    }

    /// Number of letters to insert, delete, change or swap with a neighbour; case is ignored.
    private static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var beforeLast: [Int] = []
        var last = Array(0...right.count)
        for i in 0..<left.count {
            var row = [i + 1]
            for j in 0..<right.count {
                let same = lowercased(left[i]) == lowercased(right[j])
                var cost = min(last[j] + (same ? 0 : 1), last[j + 1] + 1, row[j] + 1)
                if i > 0, j > 0, left[i] == right[j - 1], left[i - 1] == right[j] {
                    cost = min(cost, beforeLast[j - 1] + 1)
                }
                row.append(cost)
            }
            beforeLast = last
            last = row
        }
        return last[right.count]
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 { (65...90).contains(byte) ? byte | 0x20 : byte }
}
