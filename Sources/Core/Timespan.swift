/// A length of time that cannot overflow: too large values saturate.
///
/// For limits and waits from a host, a record or a server; times are monotonic nanoseconds.
package struct Timespan: Equatable, Comparable, Sendable {
    package let nanoseconds: Int64

    /// Any number of milliseconds, also negative.
    package init(milliseconds: Int64) {
        let (product, isTooLarge) = milliseconds.multipliedReportingOverflow(by: 1_000_000)
        nanoseconds = isTooLarge ? (milliseconds < 0 ? .min : .max) : product
    }

    /// The time this long after `moment`, saturated.
    package func after(_ moment: Int64) -> Int64 { moment.addingSaturated(nanoseconds) }

    package static func < (left: Timespan, right: Timespan) -> Bool { left.nanoseconds < right.nanoseconds }
}

extension Int64 {
    /// The sum, saturated.
    package func addingSaturated(_ other: Int64) -> Int64 {
        let (sum, isTooLarge) = addingReportingOverflow(other)
        return isTooLarge ? (other < 0 ? .min : .max) : sum
    }
}

extension ClosedRange<Int64> {
    /// The nearest number in the range.
    package func clamping(_ value: Int64) -> Int64 { Swift.min(Swift.max(value, lowerBound), upperBound) }
}
