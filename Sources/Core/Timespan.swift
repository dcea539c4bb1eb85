/// A length of time that no number can make trap: what does not fit is held at the ends of what does.
///
/// For limits and waits that a host, a stored record or a server names; moments are monotonic nanoseconds.
package struct Timespan: Equatable, Comparable, Sendable {
    package let nanoseconds: Int64

    /// Any number of milliseconds, negative ones too.
    package init(milliseconds: Int64) {
        let (product, isTooLarge) = milliseconds.multipliedReportingOverflow(by: 1_000_000)
        nanoseconds = isTooLarge ? (milliseconds < 0 ? .min : .max) : product
    }

    /// The moment that lies so long after another, or the last one that there is.
    package func after(_ moment: Int64) -> Int64 { moment.addingSaturated(nanoseconds) }

    package static func < (left: Timespan, right: Timespan) -> Bool { left.nanoseconds < right.nanoseconds }
}

extension Int64 {
    /// The sum, or the nearest number to it.
    package func addingSaturated(_ other: Int64) -> Int64 {
        let (sum, isTooLarge) = addingReportingOverflow(other)
        return isTooLarge ? (other < 0 ? .min : .max) : sum
    }
}

extension ClosedRange<Int64> {
    /// The nearest number within.
    package func clamping(_ value: Int64) -> Int64 { Swift.min(Swift.max(value, lowerBound), upperBound) }
}
