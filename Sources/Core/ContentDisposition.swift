/// Reads the file name out of `Content-Disposition` (RFC 6266, with RFC 8187 for `filename*`).
package enum ContentDisposition {
    /// The file name as the server sent it, not yet sanitised; nil when there is none.
    ///
    /// `filename*` takes precedence over `filename`. The first of several of one kind counts. A malformed extended
    /// value is ignored. The type (`attachment`, `inline`) does not matter and may be missing. `decode` handles
    /// charsets other than UTF-8 and Latin-1: it gets the charset's name and the bytes, and returns nil when it cannot
    /// decode them.
    package static func fileName(
        _ value: String, decode: (_ charset: String, _ bytes: [UInt8]) -> String? = { _, _ in nil }
    ) -> String? {
        guard value.utf8.count <= Limits.contentDispositionByteCount else { return nil }
        var plain: String?
        var extended: String?
        for (name, value) in parameters(value) {
            if name == "filename*" {
                if extended == nil { extended = extendedValue(value, decode) }
            } else if name == "filename" {
                if plain == nil { plain = value }
            }
        }
        return extended ?? plain
    }

    /// All `name=value` pairs, names in lower case, quoted strings unquoted.
    private static func parameters(_ value: String) -> [(name: String, value: String)] {
        var result: [(String, String)] = []
        var rest = value.utf8[...]
        while !rest.isEmpty {
            let name = rest.prefix { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: "=") }
            rest = rest[name.endIndex...]
            // No `=`: the type, or an empty parameter.
            guard rest.popFirst() == UInt8(ascii: "=") else { continue }
            let value = takeValue(&rest)
            result.append((HTTPGrammar.lowercased(HTTPGrammar.trimmedSlice(Substring(name))), value))
        }
        return result
    }

    /// Takes one value and the `;` after it.
    private static func takeValue(_ rest: inout Substring.UTF8View) -> String {
        while let byte = rest.first, byte.isOptionalWhitespace { rest.removeFirst() }
        guard rest.first == UInt8(ascii: "\"") else {
            // Accepts more than a token: names with spaces are often sent unquoted.
            let raw = rest.prefix { $0 != UInt8(ascii: ";") }
            rest = rest[raw.endIndex...].dropFirst()
            return HTTPGrammar.trimmed(Substring(raw))
        }
        rest.removeFirst()
        var bytes: [UInt8] = []
        quoted: while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): break quoted
            case UInt8(ascii: "\\"):
                if let escaped = rest.popFirst() { bytes.append(escaped) }
            default: bytes.append(byte)
            }
        }
        rest = rest.drop { $0 != UInt8(ascii: ";") }.dropFirst()
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Reads `charset'language'percent-encoded`; nil when any part is malformed.
    private static func extendedValue(_ value: String, _ decode: (String, [UInt8]) -> String?) -> String? {
        let parts = value.utf8.split(separator: UInt8(ascii: "'"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[2].allSatisfy(isExtendedValueByte) else { return nil }
        let encoded = Substring(parts[2])
        // Every `%` must begin an escape.
        let escapes = encoded.utf8.split(separator: UInt8(ascii: "%"), omittingEmptySubsequences: false).dropFirst()
        guard escapes.allSatisfy({ $0.count >= 2 && $0.prefix(2).allSatisfy { $0.hexDigitValue != nil } }) else {
            return nil
        }
        let bytes = PercentEncoding.decode(encoded)
        let charset = HTTPGrammar.lowercased(Substring(parts[0]))
        switch charset {
        case "utf-8", "utf8": return String(validating: bytes, as: UTF8.self)
        case "iso-8859-1": return PercentEncoding.latin1(bytes)
        default: return HTTPGrammar.isToken(charset) ? decode(charset, bytes) : nil
        }
    }

    /// `attr-char` or `%`, and all other visible ASCII except the quote: servers often leave it unencoded.
    private static func isExtendedValueByte(_ byte: UInt8) -> Bool {
        (0x21...0x7e).contains(byte) && byte != UInt8(ascii: "\"")
    }
}
