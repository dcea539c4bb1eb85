/// The server of a URL: scheme, host and port (RFC 9110, 4.3.1).
package struct Origin: Equatable, Hashable, Sendable {
    /// In lower case.
    package let scheme: String
    /// In lower case; an IPv6 address in brackets, as in the URL.
    package let host: String
    /// The scheme's default port if the URL has none.
    package let port: Int

    /// Scheme and host in any case; a missing port is the scheme's default (0 for a scheme other than http or https).
    package init(scheme: String, host: String, port: Int? = nil) {
        self.scheme = HTTPGrammar.lowercased(scheme)
        self.host = HTTPGrammar.lowercased(host)
        self.port = port ?? Self.defaultPort(self.scheme)
    }

    /// True for http and https.
    package var isSupported: Bool { scheme == "http" || scheme == "https" }

    private static func defaultPort(_ scheme: String) -> Int {
        switch scheme {
        case "http": 80
        case "https": 443
        default: 0
        }
    }
}
