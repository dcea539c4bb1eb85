/// Who answers: scheme, host and port (RFC 9110, 4.3.1).
package struct Origin: Equatable, Hashable, Sendable {
    /// In lower case.
    package let scheme: String
    /// In lower case; an IPv6 address as the URL has it.
    package let host: String
    /// Never left open: the scheme's own if the URL names none.
    package let port: Int

    /// Scheme and host in any case; without a port, the scheme's own (0 for a scheme that is not http or https).
    package init(scheme: String, host: String, port: Int? = nil) {
        self.scheme = HTTPGrammar.lowercased(scheme)
        self.host = HTTPGrammar.lowercased(host)
        self.port = port ?? Self.defaultPort(self.scheme)
    }

    /// True for the two schemes that are spoken.
    package var isSupported: Bool { scheme == "http" || scheme == "https" }

    private static func defaultPort(_ scheme: String) -> Int {
        switch scheme {
        case "http": 80
        case "https": 443
        default: 0
        }
    }
}
