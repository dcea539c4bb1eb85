/// The range that a request asks for (RFC 9110, 14.2).
package struct RangeRequest: Equatable, Hashable, Sendable {
    /// The first offset that is wanted.
    package var lowerBound: Int64
    /// The first offset that is not wanted; nil asks to the end.
    package var upperBound: Int64?
    /// The value for `If-Range`, exactly as the server once sent it; nil sends none.
    package var ifRange: String?
    /// How many bytes from `lowerBound` on are held, and asked for only to be compared.
    package var overlapByteCount: Int64

    package init(
        lowerBound: Int64, upperBound: Int64? = nil, ifRange: String? = nil, overlapByteCount: Int64 = 0
    ) {
        self.lowerBound = lowerBound
        self.upperBound = upperBound
        self.ifRange = ifRange
        self.overlapByteCount = overlapByteCount
    }

    /// The range as `Range: bytes=` is followed by it: `100-199` or `100-`.
    package var fieldValue: String {
        guard let upperBound else { return "\(lowerBound)-" }
        return "\(lowerBound)-\(upperBound - 1)"
    }
}

/// What was learnt about an origin's way with ranges.
package struct RangeQuirks: Equatable, Sendable {
    /// It answers `If-Range` with the whole file though the validator is right.
    package var isIfRangeBroken: Bool
    /// Ranges are not asked for any more, and why; nil while they are.
    package var rangesGivenUp: TransferOrigin.Why?
    /// How much of what is held is compared with a part that follows another one of this run; nil before one came.
    package var maxOverlapByteCount: Int64?
    /// Up to here what is held was compared in this run, by parts that brought nothing else.
    package var comparedEnd: Int64?

    package init(isIfRangeBroken: Bool = false, rangesGivenUp: TransferOrigin.Why? = nil) {
        self.isIfRangeBroken = isIfRangeBroken
        self.rangesGivenUp = rangesGivenUp
    }
}
