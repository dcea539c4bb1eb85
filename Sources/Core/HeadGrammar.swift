/// The grammar of a response's head, as strict as its framing needs (RFC 9112, 4 to 6).
///
/// libcurl reads the same lines by rules of its own.  Where the two could differ about where the body ends or what its
/// bytes are, the line is refused: a blank before the colon, a continued line, a name out of the grammar, a CR by itself.
/// Lines that frame nothing may break it otherwise.
package enum HeadGrammar {
    /// What a status line says.
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

    /// Reads the first line of a head, without its line end; throws unless it is one of HTTP/1.0 or 1.1.
    ///
    /// Nothing else is asked for, and another version would say something else about how the body ends.  The reason may be
    /// missing; the blanks may be several.
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

    /// What kind of field a line of a head belongs to; throws when it is to be refused.
    ///
    /// The line comes without its line end and is not empty.  `previous` is the kind of the line before; nil for the first
    /// one behind the status line.
    package static func kind(
        _ line: ArraySlice<UInt8>, after previous: FieldKind?
    ) throws(MalformedField) -> FieldKind {
        // Some readers end a line there.
        if line.contains(cr) { throw MalformedField("response header", "has a CR by itself") }
        let isContinuation = line.first?.isOptionalWhitespace ?? false
        if isContinuation {
            guard let previous else { throw MalformedField("response header", "begins with a continued line") }
            guard previous == .other else { throw MalformedField("response header", "continues a framing field") }
        } else if !line.contains(colon) {
            throw MalformedField("response header", "has a line that is no field")
        }
        guard let end = line.firstIndex(of: colon), let framing = framingName(line[..<end]) else {
            return isContinuation ? previous ?? .other : .other
        }
        let name = String(decoding: line[..<end], as: UTF8.self)
        if !isContinuation {
            if name.equalsIgnoringASCIICase(framing) { return .framing }
            // Another name that is right by itself is another field.
            if HTTPGrammar.isToken(name) { return .other }
        }
        throw MalformedField(framing, "is not written as a field of that name")
    }

    /// The framing field that a name, right or not, stands for to somebody who passes over what does not belong there.
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
