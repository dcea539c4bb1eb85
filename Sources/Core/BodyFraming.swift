/// Reads `Content-Length` (RFC 9110, 8.6).
package enum ContentLength {
    /// The length that all fields agree on; nil when there is none. Equal repetitions, in one field or several, are
    /// allowed.
    package static func parse(_ values: [String]) throws(MalformedField) -> Int64? {
        var length: Int64?
        for value in values {
            for element in value.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
                let digits = HTTPGrammar.trimmedSlice(Substring(element)).utf8
                guard let number = HTTPGrammar.decimal(digits, maximum: Limits.fileByteCount) else {
                    throw MalformedField("Content-Length", "is not a number from 0 to 2^53 − 1")
                }
                if let length, length != number {
                    throw MalformedField("Content-Length", "is given twice with different values")
                }
                length = number
            }
        }
        return length
    }
}

/// How the end of a response body is recognised (RFC 9112, 6.3).
package struct BodyFraming: Equatable, Sendable {
    /// The body's length; nil when the head does not say.
    package var byteCount: Int64?
    /// True when a cut-off body can be told from a complete one.
    package var isEndProven: Bool

    /// Throws for a malformed length, and for any transfer coding other than `chunked` alone or `identity`.
    package init(_ head: ResponseHead) throws(MalformedField) {
        let length = try ContentLength.parse(head.values("Content-Length"))
        let named = HTTPGrammar.tokenList(head.values("Transfer-Encoding"))
        if named.isEmpty, !head.values("Transfer-Encoding").isEmpty {
            throw MalformedField("Transfer-Encoding", "is empty")
        }
        let codings = named.filter { $0 != "identity" }
        guard codings.allSatisfy({ $0 == "chunked" }) else {
            throw MalformedField("Transfer-Encoding", "names a coding that was not requested")
        }
        // Readers differ about whether the body is chunked when anything else is listed, even an empty element.
        let isAlone = named.count == 1 && !HTTPGrammar.hasEmptyElement(head.values("Transfer-Encoding"))
        guard codings.isEmpty || isAlone else {
            throw MalformedField("Transfer-Encoding", "names chunked together with something else")
        }
        // A transfer coding overrides the length (RFC 9112, 6.3).
        byteCount = codings.isEmpty ? length : nil
        // From HTTP/2 on, the stream's end is explicit.
        isEndProven = byteCount != nil || !codings.isEmpty || head.httpVersion >= 20
    }
}
