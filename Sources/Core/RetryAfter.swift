/// Reads `Retry-After` (RFC 9110, 10.2.3).
package enum RetryAfter {
    /// How long the server asks to wait, within 1 s and 1 h; nil when it does not say or cannot be understood.
    ///
    /// A moment that has passed means the least wait.  A date is taken relative to the server's own `Date` if it sent
    /// one, which makes a wrong clock on either side harmless, else to `nowSeconds` (since 1970).
    package static func milliseconds(_ head: ResponseHead, nowSeconds: Int64) -> Int64? {
        guard let value = head.value("Retry-After") else { return nil }
        let digits = HTTPGrammar.trimmedSlice(Substring(value)).utf8
        if !digits.isEmpty, digits.allSatisfy(\.isASCIIDigit) {
            // Too many digits for a number are a very long wait, not none.
            let seconds = HTTPGrammar.decimal(digits, maximum: .max) ?? .max
            return bounded(seconds: seconds)
        }
        guard let date = head.retryAfterDateSeconds else { return nil }
        let (seconds, overflowed) = date.subtractingReportingOverflow(head.dateSeconds ?? nowSeconds)
        return bounded(seconds: overflowed ? (date > 0 ? .max : 0) : seconds)
    }

    private static func bounded(seconds: Int64) -> Int64 {
        let (milliseconds, overflowed) = max(0, seconds).multipliedReportingOverflow(by: 1_000)
        if overflowed { return Limits.retryAfterMaxMilliseconds }
        return min(max(milliseconds, Limits.retryAfterMinMilliseconds), Limits.retryAfterMaxMilliseconds)
    }
}
