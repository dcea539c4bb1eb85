/// Reads `Retry-After` (RFC 9110, 10.2.3).
package enum RetryAfter {
    /// How long the server asks to wait, from 1 s to 1 h; nil when the field is missing or malformed.
    ///
    /// A time in the past means the shortest wait.  A date is relative to the server's own `Date` if it sent one, so
    /// that a wrong clock does no harm, else to `nowSeconds` (since 1970).
    package static func milliseconds(_ head: ResponseHead, nowSeconds: Int64) -> Int64? {
        guard let value = head.value("Retry-After") else { return nil }
        let digits = HTTPGrammar.trimmedSlice(Substring(value)).utf8
        if !digits.isEmpty, digits.allSatisfy(\.isASCIIDigit) {
            // More digits than fit into a number mean a very long wait.
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
