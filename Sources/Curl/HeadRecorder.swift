internal import Core

/// Collects the lines of a response's head as libcurl hands them over, and turns them into a `ResponseHead` when asked.
///
/// Keeps the last final response's head only: interim responses (1xx) are dropped, trailers ignored.
struct HeadRecorder {
    /// The most header bytes taken in one transfer, interim responses included.
    static let maxByteCount = 300 * 1024
    /// The most lines taken in one transfer, interim responses included.
    static let maxFieldCount = 1_000

    enum Verdict {
        case accepted
        case tooLarge
    }

    /// All header bytes that came, whatever became of them.
    private(set) var byteCount = 0
    private var lineCount = 0
    private var bytes: [UInt8] = []
    private var status = 0
    /// True once the blank line after a final response's fields has come.
    private(set) var isComplete = false

    init() {}

    /// Takes one line, its line end included.
    mutating func record(_ line: some Collection<UInt8>) -> Verdict {
        let (sum, overflow) = byteCount.addingReportingOverflow(line.count)
        byteCount = overflow ? .max : sum
        lineCount += 1
        if byteCount > Self.maxByteCount || lineCount > Self.maxFieldCount { return .tooLarge }
        if isComplete { return .accepted }  // a trailer
        if let status = Self.statusCode(line) {
            bytes.removeAll(keepingCapacity: true)
            self.status = status
        }
        bytes.append(contentsOf: line)
        let isBlank = line.allSatisfy { $0 == 0x0d || $0 == 0x0a }
        // 101 is final for us: we never ask for an upgrade.
        if isBlank && (status >= 200 || status == 101) { isComplete = true }
        return .accepted
    }

    /// True when so many bytes came that libcurl's own limit for all of a head may have been hit by one line more.
    static func isNearLimit(_ byteCount: Int) -> Bool {
        let maxLineByteCount = 100 * 1024
        return byteCount > maxByteCount - maxLineByteCount
    }

    /// The head, once it is complete.
    func head() -> ResponseHead? {
        guard isComplete else { return nil }
        let lines = bytes.split(separator: 0x0a).map { $0.last == 0x0d ? $0.dropLast() : $0 }
        guard let statusLine = lines.first else { return nil }
        var head = ResponseHead(status: status, httpVersion: Self.httpVersion(statusLine))
        for line in lines.dropFirst() { Self.add(line, to: &head) }
        head.dateSeconds = head.value("Date").flatMap(HTTPDate.parse)
        head.lastModifiedSeconds = head.value("Last-Modified").flatMap(HTTPDate.parse)
        head.retryAfterDateSeconds = head.value("Retry-After").flatMap(HTTPDate.parse)
        return head
    }

    private static func add(_ line: ArraySlice<UInt8>, to head: inout ResponseHead) {
        guard let first = line.first else { return }
        if isBlank(first) {
            // An obsolete line folding continues the field before (RFC 9112, 5.2).
            guard let last = head.fields.indices.last else { return }
            let more = text(line)
            if !more.isEmpty { head.fields[last].value += " " + more }
            return
        }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return }
        head.fields.append(ResponseHead.Field(text(line[..<colon]), text(line[colon...].dropFirst())))
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    /// Trimmed; UTF-8 if it is, else Latin-1.
    private static func text(_ bytes: ArraySlice<UInt8>) -> String {
        var bytes = bytes.drop(while: isBlank)
        while let last = bytes.last, isBlank(last) { bytes.removeLast() }
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        var scalars = String.UnicodeScalarView()
        for byte in bytes { scalars.append(Unicode.Scalar(byte)) }
        return String(scalars)
    }

    /// The code when the line is a status line.  libcurl has refused malformed ones before.
    private static func statusCode(_ line: some Collection<UInt8>) -> Int? {
        guard line.starts(with: "HTTP/".utf8), let blank = line.firstIndex(of: 0x20) else { return nil }
        let digits = line[blank...].drop { $0 == 0x20 }.prefix(3)
        guard digits.count == 3, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }

    /// 11 for `HTTP/1.1`, 20 for `HTTP/2`; 0 when malformed.
    private static func httpVersion(_ statusLine: ArraySlice<UInt8>) -> Int {
        let version = statusLine.dropFirst(5).prefix { $0 != 0x20 }
        let parts = version.split(separator: UInt8(ascii: ".")).map { Int(String(decoding: $0, as: UTF8.self)) }
        guard let major = parts.first ?? nil, (0...9).contains(major) else { return 0 }
        let minor = parts.count > 1 ? parts[1] ?? 0 : 0
        return major * 10 + min(max(minor, 0), 9)
    }
}
