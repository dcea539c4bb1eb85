/// The grammar of a response head, as strict as body framing needs (RFC 9112, 4 to 6).
///
/// libcurl reads the same lines by its own rules.  A line is refused where the two could differ about the end or the
/// coding of the body: a space before the colon, a continued line, a malformed name, a CR by itself. Other lines may
/// break the grammar.
package enum HeadGrammar {
    /// The content of a status line.
    package struct Status: Equatable, Sendable {
        /// 10 for HTTP/1.0, 11 for HTTP/1.1.
        package var httpVersion: Int
        package var code: Int
    }

    /// Whether a field says where the body ends, where its bytes belong, or how they are coded.
    package enum FieldKind: Equatable, Sendable {
        case framing
        case other
    }

    /// Reads the first line of a head, without its line end; throws unless it is HTTP/1.0 or 1.1.
    ///
    /// The service requests no other version, and another one frames bodies by other rules.  The reason may be missing,
    /// and several spaces are allowed.
    package static func status(_ line: ArraySlice<UInt8>) throws(MalformedField) -> Status {
        let malformed = MalformedField("status line", "is not one of HTTP/1.0 or HTTP/1.1")
        guard line.starts(with: "HTTP/1.".utf8) else { throw malformed }
        let rest = line.dropFirst(7)
        guard let minor = rest.first, minor == UInt8(ascii: "0") || minor == UInt8(ascii: "1") else { throw malformed }
        let blanks = rest.dropFirst().prefix { $0 == 0x20 }
        let digits = line[blanks.endIndex...].prefix(3)
        let behind = line[digits.endIndex...].first
        guard !blanks.isEmpty, digits.count == 3, behind == nil || behind == 0x20, !line.contains(cr),
            let code = HTTPGrammar.decimal(digits, maximum: 999), code >= 100
        else { throw malformed }
        return Status(httpVersion: minor == UInt8(ascii: "1") ? 11 : 10, code: Int(code))
    }

    /// The kind of field that a line belongs to; throws when the line is refused.
    ///
    /// The line has no line end and is not empty.  `previous` is the kind of the line before; nil for the first one
    /// after the status line.
    package static func kind(
        _ line: ArraySlice<UInt8>, after previous: FieldKind?
    ) throws(MalformedField) -> FieldKind {
        // Some readers treat a CR as the end of the line.
        if line.contains(cr) { throw MalformedField("response header", "has a CR by itself") }
        let isContinuation = line.first?.isOptionalWhitespace ?? false
        if isContinuation {
            guard let previous else { throw MalformedField("response header", "begins with a continued line") }
            guard previous == .other else { throw MalformedField("response header", "continues a framing field") }
        } else if !line.contains(colon) {
            throw MalformedField("response header", "has a line that is not a field")
        }
        guard let end = line.firstIndex(of: colon), let framing = framingName(line[..<end]) else {
            return isContinuation ? previous ?? .other : .other
        }
        let name = String(decoding: line[..<end], as: UTF8.self)
        if !isContinuation {
            if name.equalsIgnoringASCIICase(framing) { return .framing }
            // Any other valid name is another field.
            if HTTPGrammar.isToken(name) { return .other }
        }
        throw MalformedField(framing, "is not written as a field of that name")
    }

    /// The framing field that a lenient reader, which skips characters that do not belong in a name, would see.
    private static func framingName(_ name: ArraySlice<UInt8>) -> String? {
        let letters = letters(name)
        return framingNames.first { self.letters($0.utf8) == letters }
    }

    private static func letters(_ name: some Sequence<UInt8>) -> [UInt8] {
        name.map(\.asciiLowercased).filter { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) }
    }

    private static let framingNames = ["Transfer-Encoding", "Content-Length", "Content-Range", "Content-Encoding"]
    private static let colon = UInt8(ascii: ":")
    private static let cr: UInt8 = 0x0d
}
