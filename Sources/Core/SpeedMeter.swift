/// The rate of a transfer: an exponentially weighted mean over about 5 s.
///
/// Times are nanoseconds of one monotonic clock.
package struct SpeedMeter: Equatable, Sendable {
    /// The filter's time constant.
    private static let windowSeconds = 5.0
    /// Rates over a shorter time are noise.
    private static let minSeconds = 0.05

    private var lastNanoseconds: Int64?
    private var lastByteCount: Int64 = 0
    /// The filtered rate, and the filter's weight so far: early on, the mean covers only the time since the start.
    private var weightedRate = 0.0
    private var weight = 0.0

    package init() {}

    /// Records the number of bytes so far.  The first call after a start or a pause only sets the starting point, and
    /// so does a count below the last one.
    package mutating func record(nowNanoseconds: Int64, byteCount: Int64) {
        guard let last = lastNanoseconds else {
            lastNanoseconds = nowNanoseconds
            lastByteCount = byteCount
            return
        }
        if byteCount < lastByteCount { lastByteCount = byteCount }
        let seconds = Self.seconds(from: last, to: nowNanoseconds)
        // The bytes count in the next call, so that none is lost.
        guard seconds >= Self.minSeconds else { return }
        (weightedRate, weight) = filtered(bytes: Double(byteCount - lastByteCount), seconds: seconds)
        lastNanoseconds = nowNanoseconds
        lastByteCount = byteCount
    }

    /// Resets the meter: there is no rate until bytes arrive again.
    package mutating func pause() { self = SpeedMeter() }

    /// Bytes per second; nil when there is no measurement.  Falls while nothing is recorded.
    package func bytesPerSecond(nowNanoseconds: Int64) -> Int64? {
        guard let last = lastNanoseconds, weight > 0 else { return nil }
        let seconds = Self.seconds(from: last, to: nowNanoseconds)
        // Less than a second is the normal time between two records, not a silent server.
        let state = seconds > 1 ? filtered(bytes: 0, seconds: seconds) : (weightedRate, weight)
        return Self.integer(state.0 / state.1)
    }

    /// Milliseconds until that many more bytes have arrived; nil without a rate, or beyond a year.
    package func etaMilliseconds(remainingByteCount: Int64, nowNanoseconds: Int64) -> Int64? {
        if remainingByteCount <= 0 { return 0 }
        guard let rate = bytesPerSecond(nowNanoseconds: nowNanoseconds), rate > 0 else { return nil }
        let milliseconds = Double(remainingByteCount) / Double(rate) * 1_000
        return milliseconds < 366 * 86_400_000 ? Self.integer(milliseconds) : nil
    }

    /// A first-order low-pass filter, in the form that needs no exponential and is stable for any step.
    private func filtered(bytes: Double, seconds: Double) -> (rate: Double, weight: Double) {
        let share = seconds / (Self.windowSeconds + seconds)
        return (weightedRate * (1 - share) + bytes / seconds * share, weight * (1 - share) + share)
    }

    private static func seconds(from start: Int64, to end: Int64) -> Double {
        let (span, overflowed) = end.subtractingReportingOverflow(start)
        return overflowed || span < 0 ? 0 : Double(span) / 1e9
    }

    private static func integer(_ value: Double) -> Int64? {
        guard value.isFinite, value >= 0, value < Double(Limits.fileByteCount) else { return nil }
        return Int64(value.rounded())
    }
}
