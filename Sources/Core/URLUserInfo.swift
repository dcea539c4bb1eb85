/// The part of a URL before the `@`: credentials. They are removed from the URL, stored with the headers, and never
/// shown.
package enum URLUserInfo {
    /// Begins the line of the userinfo among a record's header lines; no field name can be empty.
    private static let mark = ":userinfo "

    /// The URL without userinfo, and the userinfo as given; nil when the URL has none.
    ///
    /// Works on any text: the userinfo is between `://` and the last `@` before the first of `/?#` (RFC 3986, 3.2).
    package static func split(_ url: String) -> (url: String, userInfo: String?) {
        let bytes = url.utf8
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), bytes[colon...].starts(with: "://".utf8) else {
            return (url, nil)
        }
        let start = bytes.index(colon, offsetBy: 3)
        let end = bytes[start...].firstIndex { "/?#".utf8.contains($0) } ?? bytes.endIndex
        guard let at = bytes[start..<end].lastIndex(of: UInt8(ascii: "@")) else { return (url, nil) }
        return (String(url[..<start] + url[bytes.index(after: at)...]), String(url[start..<at]))
    }

    /// The header lines with this userinfo instead of the old one; nil removes it.
    package static func keeping(_ userInfo: String?, in headersText: String) -> String {
        var lines = headersText.split(separator: "\n").filter { !$0.utf8.starts(with: mark.utf8) }
        if let userInfo { lines.append(Substring(mark + userInfo)) }
        return lines.joined(separator: "\n")
    }

    /// The userinfo among the header lines.
    package static func kept(in headersText: String) -> String? {
        let line = headersText.split(separator: "\n").last { $0.utf8.starts(with: mark.utf8) }
        return line.map { String($0.dropFirst(mark.count)) }
    }
}
