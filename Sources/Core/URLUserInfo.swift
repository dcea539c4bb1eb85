/// What stands before the `@` of a URL: credentials, which leave the URL, are kept as headers are, and are never shown.
package enum URLUserInfo {
    /// Begins its line among the header lines of a record; no field name can be empty.
    private static let mark = ":userinfo "

    /// The URL without userinfo, and what stood before the `@` as it was given; nil when the URL has none.
    ///
    /// Works on any text: what follows `://`, up to the first of `/?#` or the end, to its last `@` (RFC 3986, 3.2).
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

    /// Header lines with the userinfo beside them, in place of what they had; nil takes it out.
    package static func keeping(_ userInfo: String?, in headersText: String) -> String {
        var lines = headersText.split(separator: "\n").filter { !$0.utf8.starts(with: mark.utf8) }
        if let userInfo { lines.append(Substring(mark + userInfo)) }
        return lines.joined(separator: "\n")
    }

    /// The userinfo that lies among header lines.
    package static func kept(in headersText: String) -> String? {
        let line = headersText.split(separator: "\n").last { $0.utf8.starts(with: mark.utf8) }
        return line.map { String($0.dropFirst(mark.count)) }
    }
}
