/// Removes secrets from text for logs and `inspect`.
package enum Redaction {
    private static let mark = "***"

    /// The URL with userinfo, every query value and the fragment replaced by `***`.
    ///
    /// Works on any text, also on a malformed URL.
    package static func url(_ text: String) -> String {
        let (beforeFragment, fragment) = split(text[...], at: "#")
        let (location, query) = split(beforeFragment, at: "?")
        var result = withoutUserinfo(location)
        if let query { result += "?" + redactedQuery(query) }
        if fragment != nil { result += "#" + mark }
        return result
    }

    /// True when the URL contains a redaction.
    package static func isRedacted(_ url: String) -> Bool {
        var bytes = url.utf8[...]
        while let star = bytes.firstIndex(of: UInt8(ascii: "*")) {
            if bytes[star...].starts(with: mark.utf8) { return true }
            bytes = bytes[star...].dropFirst()
        }
        return false
    }

    private static func redactedQuery(_ query: Substring) -> String {
        query.split(separator: "&", omittingEmptySubsequences: false)
            .map { pair in
                let (name, value) = split(pair, at: "=")
                // A name without a value may be the secret itself.
                if value != nil { return name + "=" + mark }
                return name.isEmpty ? "" : mark
            }
            .joined(separator: "&")
    }

    private static func withoutUserinfo(_ location: Substring) -> String {
        let bytes = location.utf8
        var start = bytes.startIndex
        if let colon = bytes.firstIndex(of: UInt8(ascii: ":")), bytes[colon...].starts(with: "://".utf8) {
            start = bytes.index(colon, offsetBy: 3)
        }
        let end = bytes[start...].firstIndex(of: UInt8(ascii: "/")) ?? bytes.endIndex
        guard let at = bytes[start..<end].lastIndex(of: UInt8(ascii: "@")) else { return String(location) }
        return location[..<start] + mark + location[at...]
    }

    /// Splits at the first separator, found as a byte: a combining mark after it would hide it from a search by
    /// characters.
    private static func split(_ text: Substring, at separator: Unicode.Scalar) -> (Substring, Substring?) {
        let bytes = text.utf8
        guard let index = bytes.firstIndex(of: UInt8(ascii: separator)) else { return (text, nil) }
        return (text[..<index], text[bytes.index(after: index)...])
    }
}
