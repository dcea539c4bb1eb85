/// The range of a request (RFC 9110, 14.2).
package struct RangeRequest: Equatable, Hashable, Sendable {
    /// The first requested offset.
    package var lowerBound: Int64
    /// The first offset after the requested ones; nil requests up to the end.
    package var upperBound: Int64?
    /// The value of `If-Range`, exactly as the server sent it; nil sends none.
    package var ifRange: String?
    /// How many bytes from `lowerBound` on are stored already and requested only for comparison.
    package var overlapByteCount: Int64

    package init(
        lowerBound: Int64, upperBound: Int64? = nil, ifRange: String? = nil, overlapByteCount: Int64 = 0
    ) {
        self.lowerBound = lowerBound
        self.upperBound = upperBound
        self.ifRange = ifRange
        self.overlapByteCount = overlapByteCount
    }

    /// The range as it follows `Range: bytes=`: `100-199` or `100-`.
    package var fieldValue: String {
        guard let upperBound else { return "\(lowerBound)-" }
        return "\(lowerBound)-\(upperBound - 1)"
    }
}

/// What is known about an origin's handling of ranges.
package struct RangeQuirks: Equatable, Sendable {
    /// It answers `If-Range` with the whole file although the validator is right.
    package var isIfRangeBroken: Bool
    /// Why ranges are no longer requested; nil while they are.
    package var rangesGivenUp: TransferOrigin.Why?
    /// How many stored bytes are compared with a part that follows another one of this run; nil before the first part.
    package var maxOverlapByteCount: Int64?
    /// Stored bytes before this offset were compared in this run by parts that contained nothing new.
    package var comparedEnd: Int64?

    package init(isIfRangeBroken: Bool = false, rangesGivenUp: TransferOrigin.Why? = nil) {
        self.isIfRangeBroken = isIfRangeBroken
        self.rangesGivenUp = rangesGivenUp
    }
}
