/// A half-open range of byte offsets, `lowerBound ..< upperBound`, never empty and never negative.
package struct ByteRange: Equatable, Hashable, Sendable {
    package let lowerBound: Int64
    package let upperBound: Int64

    /// Nil unless `0 <= lowerBound < upperBound`.
    package init?(_ lowerBound: Int64, _ upperBound: Int64) {
        guard lowerBound >= 0, lowerBound < upperBound else { return nil }
        self.lowerBound = lowerBound
        self.upperBound = upperBound
    }

    package var byteCount: Int64 { upperBound - lowerBound }
}

/// The bytes of a file that are stored: sorted, disjoint, non-adjacent ranges.
package struct ByteRangeSet: Equatable, Hashable, Sendable {
    package private(set) var ranges: [ByteRange] = []

    package init() {}

    /// The set of one range; empty when the bounds are not a range.
    package init(_ lowerBound: Int64, _ upperBound: Int64) {
        if let range = ByteRange(lowerBound, upperBound) { ranges = [range] }
    }

    /// The union of all the ranges given, in any order, overlapping or not.
    package init(_ ranges: some Sequence<ByteRange>) {
        for range in ranges { insert(range) }
    }

    package var isEmpty: Bool { ranges.isEmpty }

    /// The number of stored bytes.
    package var byteCount: Int64 { ranges.reduce(0) { $0 + $1.byteCount } }

    /// The end of the range that starts at offset 0; 0 when there is none.
    package var contiguousByteCount: Int64 {
        guard let first = ranges.first, first.lowerBound == 0 else { return 0 }
        return first.upperBound
    }

    /// Adds a range and joins it with those it overlaps or touches.
    package mutating func insert(_ range: ByteRange) {
        // The common case by far: a download that grows at its end.
        if let last = ranges.last, range.lowerBound >= last.lowerBound {
            if range.lowerBound > last.upperBound {
                ranges.append(range)
            } else if let merged = ByteRange(last.lowerBound, max(last.upperBound, range.upperBound)) {
                ranges[ranges.endIndex - 1] = merged
            }
            return
        }
        let start = firstIndex { $0.upperBound >= range.lowerBound }
        let end = firstIndex { $0.lowerBound > range.upperBound }
        let touched = ranges[start..<end]
        let lower = min(range.lowerBound, touched.first?.lowerBound ?? range.lowerBound)
        let upper = max(range.upperBound, touched.last?.upperBound ?? range.upperBound)
        guard let merged = ByteRange(lower, upper) else { return }
        ranges.replaceSubrange(start..<end, with: [merged])
    }

    /// The bytes that are in either set.
    package func union(_ other: ByteRangeSet) -> ByteRangeSet {
        var result = self
        for range in other.ranges { result.insert(range) }
        return result
    }

    /// The bytes that are in both sets.
    package func intersection(_ other: ByteRangeSet) -> ByteRangeSet {
        var result: [ByteRange] = []
        var left = ranges[...]
        var right = other.ranges[...]
        while let a = left.first, let b = right.first {
            if let both = ByteRange(max(a.lowerBound, b.lowerBound), min(a.upperBound, b.upperBound)) {
                result.append(both)
            }
            if a.upperBound < b.upperBound { left.removeFirst() } else { right.removeFirst() }
        }
        return ByteRangeSet(result)
    }

    /// The part below `byteCount`.
    package func clipped(to byteCount: Int64) -> ByteRangeSet {
        intersection(ByteRangeSet(0, byteCount))
    }

    /// The missing ranges of `0 ..< byteCount`.
    package func gaps(upTo byteCount: Int64) -> [ByteRange] {
        var result: [ByteRange] = []
        var next: Int64 = 0
        for range in ranges where range.lowerBound < byteCount {
            if let gap = ByteRange(next, range.lowerBound) { result.append(gap) }
            next = range.upperBound
        }
        if let gap = ByteRange(next, byteCount) { result.append(gap) }
        return result
    }

    /// True when every byte of the range is stored.
    package func contains(_ range: ByteRange) -> Bool {
        let index = firstIndex { $0.upperBound >= range.upperBound }
        return index < ranges.endIndex && ranges[index].lowerBound <= range.lowerBound
    }

    /// True when every byte of `0 ..< byteCount` is stored.
    package func isComplete(_ byteCount: Int64) -> Bool {
        byteCount <= contiguousByteCount
    }

    /// The first index whose range satisfies the predicate (all later ones do too), by bisection; `endIndex` if none
    /// does.
    private func firstIndex(from predicate: (ByteRange) -> Bool) -> Int {
        var low = ranges.startIndex
        var high = ranges.endIndex
        while low < high {
            let middle = low + (high - low) / 2
            if predicate(ranges[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
