/// A request header that may not be sent.
package struct HeaderViolation: Error, Equatable, Sendable {
    /// What can be wrong with a header.
    package enum Rule: String, Sendable, CaseIterable {
        case nameNotToken
        case valueHasControlCharacter
        case reserved
        case tooLarge
    }
    /// The header's name; empty when it must not be shown, and for `tooLarge`.
    package var name: String
    /// What it breaks.
    package var rule: Rule

    package init(name: String, rule: Rule) {
        self.name = name
        self.rule = rule
    }

    /// One sentence; contains no header value.
    package var message: String {
        switch rule {
        case .nameNotToken: "A header name is not a token (RFC 9110, 5.6.2)."
        case .valueHasControlCharacter: "The header \(name) has a control character in its value."
        case .reserved: "The header \(name) is set by the service and cannot be given."
        case .tooLarge: "The headers exceed \(Limits.requestHeadersByteCount) bytes in all."
        }
    }
}

/// The headers that a host may set: libcurl sends any text as it is.
package enum HeaderRules {
    /// Throws the first violation.
    package static func validate(_ headers: [HeaderField]) throws(HeaderViolation) {
        var byteCount = 0
        for header in headers {
            guard HTTPGrammar.isToken(header.name) else { throw HeaderViolation(name: "", rule: .nameNotToken) }
            // Checked for each header, so that the sum cannot overflow.
            byteCount += header.name.utf8.count + 2 + header.value.utf8.count + 2
            guard byteCount <= Limits.requestHeadersByteCount else {
                throw HeaderViolation(name: "", rule: .tooLarge)
            }
            guard !reserved.contains(HTTPGrammar.lowercased(header.name)) else {
                throw HeaderViolation(name: header.name, rule: .reserved)
            }
            guard HTTPGrammar.isFieldValue(header.value) else {
                throw HeaderViolation(name: header.name, rule: .valueHasControlCharacter)
            }
        }
    }

    /// Framing, routing, and the headers that the service sets itself.
    private static let reserved: Set<String> = [
        "accept-encoding", "connection", "content-length", "expect", "host", "http2-settings", "if-match",
        "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "keep-alive", "proxy-authorization",
        "proxy-connection", "range", "te", "trailer", "transfer-encoding", "upgrade",
    ]
}
