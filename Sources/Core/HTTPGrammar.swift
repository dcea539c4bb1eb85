/// Small grammar rules that many header fields share (RFC 9110, 5.6).
package enum HTTPGrammar {
    /// True for a `token`, the grammar of a field name.
    package static func isToken(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy(isTokenByte)
    }

    /// True for text allowed in a field value: no control characters except HT.
    package static func isFieldValue(_ text: String) -> Bool {
        text.utf8.allSatisfy { ($0 >= 0x20 && $0 != 0x7f) || $0 == 0x09 }
    }

    /// The text without spaces and tabs at its ends.
    package static func trimmed(_ text: some StringProtocol) -> String {
        String(trimmedSlice(Substring(text)))
    }

    /// The elements of a comma-separated list that may span several fields, in lower case.
    ///
    /// Only for lists of tokens: a comma in a quoted string splits too.
    package static func tokenList(_ values: [String]) -> [String] {
        values.flatMap { value in
            value.utf8.split(separator: UInt8(ascii: ","))
                .map { lowercased(trimmedSlice(Substring($0))) }
                .filter { !$0.isEmpty }
        }
    }

    /// True when one of the comma-separated lists has an empty element.
    package static func hasEmptyElement(_ values: [String]) -> Bool {
        values.contains { value in
            value.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
                .contains { trimmedSlice(Substring($0)).isEmpty }
        }
    }

    /// The text with its ASCII letters in lower case.
    package static func lowercased(_ text: some StringProtocol) -> String {
        String(decoding: text.utf8.map(\.asciiLowercased), as: UTF8.self)
    }

    /// The type and subtype of a `Content-Type`, in lower case, without parameters.
    package static func mediaType(_ contentType: String) -> String {
        let essence = contentType.utf8.prefix { $0 != UInt8(ascii: ";") }
        return lowercased(trimmedSlice(Substring(essence)))
    }

    /// True for `type/subtype`, both tokens, short enough to be shown in a message (RFC 9110, 8.3.1).
    package static func isMediaType(_ text: String) -> Bool {
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        return text.utf8.count <= 100 && parts.count == 2 && parts.allSatisfy { isToken(String($0) ?? "") }
    }

    /// The number in 1 to 19 digits; nil for anything else, or a number above `maximum`.
    package static func decimal(_ digits: some Collection<UInt8>, maximum: Int64) -> Int64? {
        guard !digits.isEmpty, digits.count <= 19 else { return nil }
        var number: Int64 = 0
        for byte in digits {
            guard byte.isASCIIDigit else { return nil }
            let (shifted, overflowed) = number.multipliedReportingOverflow(by: 10)
            let (next, carried) = shifted.addingReportingOverflow(Int64(byte - UInt8(ascii: "0")))
            if overflowed || carried { return nil }
            number = next
        }
        return number <= maximum ? number : nil
    }

    static func trimmedSlice(_ text: Substring) -> Substring {
        var bytes = text.utf8
        while let first = bytes.first, first.isOptionalWhitespace { bytes.removeFirst() }
        while let last = bytes.last, last.isOptionalWhitespace { bytes.removeLast() }
        return Substring(bytes)
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "!"), UInt8(ascii: "#")...UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"),
            UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "^")...UInt8(ascii: "`"), UInt8(ascii: "|"),
            UInt8(ascii: "~"):
            true
        default:
            byte.isASCIIAlphanumeric
        }
    }
}

/// A header field that breaks its grammar.
package struct MalformedField: Error, Equatable, Sendable {
    /// The field's name.
    package var name: String
    /// The rule it breaks, as the end of a sentence; contains nothing of the value.
    package var rule: String

    package init(_ name: String, _ rule: String) {
        self.name = name
        self.rule = rule
    }
}

extension UInt8 {
    var isASCIIDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

    package var isASCIIAlphanumeric: Bool {
        isASCIIDigit || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(asciiLowercased)
    }

    var isOptionalWhitespace: Bool { self == 0x20 || self == 0x09 }

    /// The value of a hexadecimal digit.
    var hexDigitValue: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
