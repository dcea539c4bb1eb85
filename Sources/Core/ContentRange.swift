/// A `Content-Range` field, checked (RFC 9110, 14.4).
package struct ContentRange: Equatable, Sendable {
    /// The bytes in the body; nil for `*/N`: the requested range cannot be satisfied.
    package var range: ByteRange?
    /// The whole length; nil for `a-b/*`.
    package var totalByteCount: Int64?
    /// True for two malformed forms that are accepted anyway: `bytes=a-b/N` and a missing unit.
    package var isLenient: Bool

    package init(range: ByteRange?, totalByteCount: Int64?, isLenient: Bool = false) {
        self.range = range
        self.totalByteCount = totalByteCount
        self.isLenient = isLenient
    }

    /// Reads all fields of a response: nil when there is none; several must be equal.
    package static func parse(_ values: [String]) throws(MalformedField) -> ContentRange? {
        guard let first = values.first else { return nil }
        guard values.allSatisfy({ $0 == first }) else { throw malformed("is given twice with different values") }
        return try ContentRange(first)
    }

    /// Reads one value; offsets and length must be ordered and at most 2^53 − 1.
    package init(_ value: String) throws(MalformedField) {
        let text = HTTPGrammar.trimmedSlice(Substring(value)).utf8
        let body = try Self.afterUnit(text)
        guard let slash = body.rest.firstIndex(of: UInt8(ascii: "/")) else { throw Self.malformed("has no length") }
        let span = body.rest[..<slash]
        let length = body.rest[body.rest.index(after: slash)...]

        var total: Int64?
        if !length.elementsEqual([UInt8(ascii: "*")]) {
            total = HTTPGrammar.decimal(length, maximum: Limits.fileByteCount)
            if total == nil { throw Self.malformed("has a length that is not a number in range") }
        }
        isLenient = body.isLenient
        totalByteCount = total
        if span.elementsEqual([UInt8(ascii: "*")]) {
            if total == nil { throw Self.malformed("has neither a range nor a length") }
            range = nil
        } else {
            range = try Self.range(span, totalByteCount: total)
        }
    }

    private static func afterUnit(
        _ text: Substring.UTF8View
    ) throws(MalformedField) -> (rest: Substring.UTF8View, isLenient: Bool) {
        if let first = text.first, first.isASCIIDigit || first == UInt8(ascii: "*") { return (text, true) }
        let unit = text.prefix(5)
        guard unit.map(\.asciiLowercased).elementsEqual("bytes".utf8) else { throw malformed("is not in bytes") }
        let rest = text.dropFirst(5)
        switch rest.first {
        case UInt8(ascii: " "): return (rest.dropFirst(), false)
        case UInt8(ascii: "="): return (rest.dropFirst(), true)
        default: throw malformed("has no space after its unit")
        }
    }

    private static func range(
        _ span: Substring.UTF8View, totalByteCount: Int64?
    ) throws(MalformedField) -> ByteRange {
        guard let dash = span.firstIndex(of: UInt8(ascii: "-")),
            let first = HTTPGrammar.decimal(span[..<dash], maximum: Limits.fileByteCount - 1),
            let last = HTTPGrammar.decimal(span[span.index(after: dash)...], maximum: Limits.fileByteCount - 1)
        else { throw malformed("has offsets that are not numbers in range") }
        guard let range = ByteRange(first, last + 1) else { throw malformed("ends before it starts") }
        if let totalByteCount, last >= totalByteCount { throw malformed("ends after the whole length") }
        return range
    }

    private static func malformed(_ rule: String) -> MalformedField { MalformedField("Content-Range", rule) }
}
