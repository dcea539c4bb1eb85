internal import Core
internal import Platform

/// Collects the lines of a response head from libcurl and makes a `ResponseHead` of them on request.
///
/// Keeps only the last final response's head: interim responses (1xx) are dropped, trailers ignored.
struct HeadRecorder {
    /// The most header bytes in one transfer, interim responses included.
    static let maxByteCount = 300 * 1024
    /// The most header lines in one transfer, interim responses included.
    static let maxFieldCount = 1_000

    enum Verdict: Equatable {
        case accepted
        case tooLarge
        case malformed(MalformedField)
    }

    /// All header bytes received, interim responses and trailers included.
    private(set) var byteCount = 0
    private var lineCount = 0
    /// The lines of the current head, without its status line.
    private var bytes: [UInt8] = []
    /// Nil until the status line of a head was received: only the first line is one.
    private var status: HeadGrammar.Status?
    private var lastKind: HeadGrammar.FieldKind?
    /// True after the empty line that ends a final response's head.
    private(set) var isComplete = false

    init() {}

    /// Takes one line with its line end.
    mutating func record(_ line: some Collection<UInt8>) -> Verdict {
        let (sum, overflow) = byteCount.addingReportingOverflow(line.count)
        byteCount = overflow ? .max : sum
        lineCount += 1
        if byteCount > Self.maxByteCount || lineCount > Self.maxFieldCount { return .tooLarge }
        if isComplete { return .accepted }  // a trailer
        do throws(MalformedField) {
            try add(Self.withoutLineEnd(Array(line)[...]))
        } catch {
            return .malformed(error)
        }
        return .accepted
    }

    private mutating func add(_ line: ArraySlice<UInt8>) throws(MalformedField) {
        guard let status else {
            self.status = try HeadGrammar.status(line)
            return
        }
        guard line.isEmpty else {
            lastKind = try HeadGrammar.kind(line, after: lastKind)
            bytes.append(contentsOf: line)
            return bytes.append(0x0a)
        }
        // 101 counts as final: we never request an upgrade.
        isComplete = status.code >= 200 || status.code == 101
        if !isComplete {
            self.status = nil
            lastKind = nil
            bytes.removeAll(keepingCapacity: true)
        }
    }

    private static func withoutLineEnd(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let line = line.last == 0x0a ? line.dropLast() : line
        return line.last == 0x0d ? line.dropLast() : line
    }

    /// True when one more line may have hit libcurl's own limit for a head.
    static func isNearLimit(_ byteCount: Int) -> Bool {
        let maxLineByteCount = 100 * 1024
        return byteCount > maxByteCount - maxLineByteCount
    }

    /// The head, once it is complete.
    func head() -> ResponseHead? {
        guard isComplete, let status else { return nil }
        var head = ResponseHead(status: status.code, httpVersion: status.httpVersion)
        for line in bytes.split(separator: 0x0a) { Self.add(line, to: &head) }
        head.dateSeconds = head.value("Date").flatMap(HTTPDate.parse)
        head.lastModifiedSeconds = head.value("Last-Modified").flatMap(HTTPDate.parse)
        head.retryAfterDateSeconds = head.value("Retry-After").flatMap(HTTPDate.parse)
        head.fileName = head.value("Content-Disposition").flatMap { value in
            ContentDisposition.fileName(value, decode: Charset.decode)
        }
        return head
    }

    private static func add(_ line: ArraySlice<UInt8>, to head: inout ResponseHead) {
        guard let first = line.first else { return }
        if isBlank(first) {
            // An obsolete folded line continues the field before (RFC 9112, 5.2).
            guard let last = head.fields.indices.last else { return }
            let more = value(line, of: head.fields[last].name)
            if !more.isEmpty { head.fields[last].value += " " + more }
            return
        }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return }
        let name = text(line[..<colon])
        head.fields.append(ResponseHead.Field(name, value(line[colon...].dropFirst(), of: name)))
    }

    /// A URL is bytes: non-ASCII bytes of a `Location` are percent-encoded one by one, whatever their charset.
    private static func value(_ bytes: ArraySlice<UInt8>, of name: String) -> String {
        guard name.equalsIgnoringASCIICase("Location") else { return text(bytes) }
        let digits = Array("0123456789abcdef".utf8)
        let encoded = bytes.flatMap { byte in
            byte < 0x80 ? [byte] : [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
        return text(encoded[...])
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    /// Trimmed; decoded as UTF-8 if valid, else as Latin-1.
    private static func text(_ bytes: ArraySlice<UInt8>) -> String {
        var bytes = bytes.drop(while: isBlank)
        while let last = bytes.last, isBlank(last) { bytes.removeLast() }
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        var scalars = String.UnicodeScalarView()
        for byte in bytes { scalars.append(Unicode.Scalar(byte)) }
        return String(scalars)
    }
}
