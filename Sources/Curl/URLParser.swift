internal import CCurl
internal import Core

/// Parses and resolves URLs with libcurl's own parser.  C: curl_url(3)
///
/// Isolation: any thread.
package enum URLParser {
    /// The longest accepted URL, in bytes.
    package static let maxByteCount = 8_192

    /// Parses an absolute http or https URL; removes the fragment, splits off the userinfo, and converts a non-ASCII
    /// host to its DNS form (UTS 46).
    package static func parse(_ text: String) throws(URLError) -> ParsedURL {
        try checkLength(text)
        // libcurl would encode a space, and would refuse a control character without a reason.
        if text.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7f }) {
            throw URLError(.illegalCharacter, "it contains a space or a control character")
        }
        try checkScheme(text)
        let handle = try URLHandle()
        try handle.set(text)
        return try handle.parsed()
    }

    /// As `parse`, for a URL to be stored: also returns the URL without its userinfo, and the userinfo as given; nil
    /// when it is absent or empty.
    package static func separate(
        _ text: String
    ) throws(URLError) -> (parsed: ParsedURL, url: String, userInfo: String?) {
        let parsed = try parse(text)
        let parts = URLUserInfo.split(text)
        guard let userInfo = parts.userInfo else {
            if parsed.hasUserInfo { throw URLError(.badUserInfo, "the part before the @ is malformed") }
            return (parsed, text, nil)
        }
        // Both parsers must agree on what is the host.
        let bare = try parse(parts.url)
        if bare.hasUserInfo || bare.absoluteString != parsed.absoluteString {
            throw URLError(.badUserInfo, "the part before the @ is malformed")
        }
        return (bare, parts.url, userInfo.isEmpty ? nil : userInfo)
    }

    /// Name and password in the userinfo that `separate` returned.
    package static func credentials(_ userInfo: String) -> ParsedURL.UserInfo? {
        (try? parse("http://\(userInfo)@h"))?.userInfo
    }

    /// Resolves a `Location` value against the URL that answered with it (RFC 3986, 5.2).
    ///
    /// Spaces in it are encoded, as servers send them; the fragment is removed.  An empty reference, as a fragment
    /// alone leaves, is the base itself.
    package static func resolve(_ location: String, against base: ParsedURL) throws(URLError) -> ParsedURL {
        let bytes = location.utf8.drop { isBlank($0) }
        let trimmed = String(decoding: bytes.reversed().drop { isBlank($0) }.reversed(), as: UTF8.self)
        try checkLength(trimmed)
        if trimmed.utf8.contains(where: { $0 < 0x20 || $0 == 0x7f }) {
            throw URLError(.illegalCharacter, "it contains a control character")
        }
        // libcurl would take a fragment for a path.
        let reference = String(decoding: trimmed.utf8.prefix { $0 != UInt8(ascii: "#") }, as: UTF8.self)
        if hasScheme(reference) { try checkScheme(reference) }
        let handle = try URLHandle()
        try handle.set(base.absoluteString)
        if !reference.isEmpty {
            try handle.set(reference.split(separator: " ", omittingEmptySubsequences: false).joined(separator: "%20"))
        }
        return try handle.parsed()
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    private static func checkLength(_ text: String) throws(URLError) {
        if text.isEmpty { throw URLError(.empty, "it is empty") }
        if text.utf8.count > maxByteCount { throw URLError(.tooLong, "it is longer than \(maxByteCount) bytes") }
    }

    /// libcurl accepts one to three slashes and would read `http:///etc/x` as host `etc`: require two and a host.
    private static func checkScheme(_ text: String) throws(URLError) {
        guard hasScheme(text), let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else {
            throw URLError(.noScheme, "it does not begin with http:// or https://")
        }
        let scheme = text[..<colon]
        if !["http", "https"].contains(scheme.lowercased()) {
            let shown = String(scheme.prefix(20)).lowercased()
            throw URLError(.unsupportedScheme, "the scheme \(shown) is not supported, only http and https are")
        }
        let rest = text.utf8[colon...].dropFirst()
        guard rest.starts(with: "//".utf8) else {
            throw URLError(.malformed, "// does not follow the scheme")
        }
        if rest.dropFirst(2).first.map({ "/?#".utf8.contains($0) }) ?? true {
            throw URLError(.noHost, "it has no host")
        }
    }

    /// True when a text begins like an absolute URL: letter, letters or digits or `+-.`, colon (RFC 3986, 3.1).
    ///
    /// `host:8080/path` does too and is refused for its scheme; the two cannot be told apart.
    private static func hasScheme(_ text: String) -> Bool {
        let bytes = text.utf8
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), colon > bytes.startIndex else { return false }
        let isLetter = { (byte: UInt8) in (0x61...0x7a).contains(byte | 0x20) }
        let isRest = { (byte: UInt8) in isLetter(byte) || (0x30...0x39).contains(byte) || "+-.".utf8.contains(byte) }
        return bytes.first.map(isLetter) ?? false && bytes[..<colon].allSatisfy(isRest)
    }
}

/// One URL in libcurl's parser.
@safe private struct URLHandle: ~Copyable {
    // Safety: freed once, in deinit; does not leave this type.
    private let raw: OpaquePointer

    init() throws(URLError) {
        guard let raw = unsafe curl_url() else { throw URLError(.malformed, "there is not enough memory to parse it") }
        unsafe self.raw = raw
        _ = CurlGlobal.isLocaleSet
    }

    deinit { unsafe curl_url_cleanup(raw) }

    /// Sets an absolute URL, or resolves a relative one against the current one; encodes non-ASCII bytes.
    borrowing func set(_ text: String) throws(URLError) {
        let flags = UInt32(CURLU_URLENCODE) | UInt32(CURLU_NON_SUPPORT_SCHEME)
        try check(unsafe curl_url_set(raw, CURLUPART_URL, text, flags))
    }

    borrowing func parsed() throws(URLError) -> ParsedURL {
        guard let scheme = ParsedURL.Scheme(rawValue: try text(CURLUPART_SCHEME) ?? "") else {
            throw URLError(.unsupportedScheme, "only http and https are supported")
        }
        // Newer versions report an empty query only on request; all of them omit its `?` from the whole URL.
        let hasEmptyQuery = try text(CURLUPART_QUERY, flags: Self.getEmpty)?.isEmpty == true
        try useASCIIHost()
        guard let host = try text(CURLUPART_HOST), !host.isEmpty else { throw URLError(.noHost, "it has no host") }
        let portText = try text(CURLUPART_PORT, flags: UInt32(CURLU_DEFAULT_PORT)) ?? ""
        guard let port = Int(portText), (1...65_535).contains(port) else {
            throw URLError(.badPort, "its port is not a number from 1 to 65535")
        }
        var userInfo: ParsedURL.UserInfo?
        let user = try text(CURLUPART_USER, flags: UInt32(CURLU_URLDECODE))
        let password = try text(CURLUPART_PASSWORD, flags: UInt32(CURLU_URLDECODE))
        if user != nil || password != nil {
            userInfo = ParsedURL.UserInfo(user: user ?? "", password: password ?? "")
        }
        for part in [CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_OPTIONS, CURLUPART_FRAGMENT] {
            try check(unsafe curl_url_set(raw, part, nil, 0))
        }
        guard let absoluteString = try text(CURLUPART_URL) else { throw URLError(.malformed, "it is malformed") }
        return ParsedURL(
            origin: ParsedURL.Origin(scheme: scheme, host: host.lowercased(), port: port),
            path: try text(CURLUPART_PATH) ?? "/",
            userInfo: userInfo,
            absoluteString: hasEmptyQuery ? absoluteString + "?" : absoluteString
        )
    }

    /// CURLU_GET_EMPTY, which 7.88 ignores.
    private static let getEmpty: UInt32 = 1 << 14

    /// One ASCII name for one host, however it is spelled, for sending and comparing.
    private borrowing func useASCIIHost() throws(URLError) {
        guard let host = try text(CURLUPART_HOST), !host.utf8.allSatisfy({ $0 < 0x80 }) else { return }
        guard let name = try? text(CURLUPART_HOST, flags: UInt32(CURLU_PUNYCODE)), Self.isHostName(name) else {
            throw URLError(.badHost, "its host is not a valid international name")
        }
        try check(unsafe curl_url_set(raw, CURLUPART_HOST, name, 0))
        // Wide digits may have become an IPv4 address, which libcurl recognises only in a whole URL.
        if let whole = try text(CURLUPART_URL) { try set(whole) }
    }

    /// The mapping can produce delimiters, as one character may stand for `a/c`, and allows empty labels before the
    /// last.
    private static func isHostName(_ text: String) -> Bool {
        let labels = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return text.utf8.allSatisfy { $0.isASCIIAlphanumeric || "-._".utf8.contains($0) }
            && labels.dropLast().allSatisfy { !$0.isEmpty } && text != "" && text != "."
    }

    /// One part's text; nil when the URL has none.
    private borrowing func text(_ part: CURLUPart, flags: UInt32 = 0) throws(URLError) -> String? {
        var value: UnsafeMutablePointer<CChar>?
        let code = unsafe curl_url_get(raw, part, &value, flags)
        defer { unsafe curl_free(value) }
        switch code {
        case CURLUE_OK: return unsafe value.map { unsafe String(cString: $0) }
        case CURLUE_NO_USER, CURLUE_NO_PASSWORD, CURLUE_NO_HOST, CURLUE_NO_PORT, CURLUE_NO_SCHEME,
            CURLUE_NO_QUERY:
            return nil
        default:
            try check(code)
            return nil
        }
    }

    private borrowing func check(_ code: CURLUcode) throws(URLError) {
        switch code {
        case CURLUE_OK: return
        case CURLUE_NO_HOST: throw URLError(.noHost, "it has no host")
        case CURLUE_BAD_HOSTNAME, CURLUE_BAD_IPV6: throw URLError(.badHost, "its host is malformed")
        case CURLUE_BAD_PORT_NUMBER: throw URLError(.badPort, "its port is not a number from 1 to 65535")
        case CURLUE_BAD_LOGIN, CURLUE_BAD_USER, CURLUE_BAD_PASSWORD, CURLUE_USER_NOT_ALLOWED:
            throw URLError(.badUserInfo, "the part before the @ is malformed")
        case CURLUE_URLDECODE: throw URLError(.badUserInfo, "the part before the @ has an encoded control character")
        case CURLUE_UNSUPPORTED_SCHEME, CURLUE_BAD_SCHEME:
            throw URLError(.unsupportedScheme, "only http and https are supported")
        default: throw URLError(.malformed, "it is malformed")
        }
    }
}
