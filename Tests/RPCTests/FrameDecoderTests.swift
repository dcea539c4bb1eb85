import RPC
import Testing

@Suite struct FrameDecoderTests {
    /// Checks the events of a stream in two pieces, split anywhere, and in single bytes.
    private func check(
        _ stream: [UInt8], _ choice: FramingChoice = .auto, gives expected: [FrameEvent], framing: Framing?,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        for split in 0...stream.count {
            var decoder = FrameDecoder(choice: choice)
            let events =
                decoder.feed(Array(stream[..<split])) + decoder.feed(Array(stream[split...])) + decoder.finish()
            #expect(events == expected, "split at \(split)", sourceLocation: sourceLocation)
            #expect(decoder.framing == framing, "split at \(split)", sourceLocation: sourceLocation)
        }
        var decoder = FrameDecoder(choice: choice)
        let events = stream.flatMap { decoder.feed([$0]) } + decoder.finish()
        #expect(events == expected, "byte by byte", sourceLocation: sourceLocation)
    }

    private func messages(_ texts: String...) -> [FrameEvent] { texts.map { .message(Array($0.utf8)) } }

    @Test(arguments: [
        ("{\"a\":1}\n[2]\n", ["{\"a\":1}", "[2]"]),
        ("{}\r\n{}\r\n", ["{}", "{}"]),
        ("{}", ["{}"]),
        ("{}\n[]", ["{}", "[]"]),
        ("\n\n  \r\n\t\n{}\n\n \n{}\n\r\n", ["{}", "{}"]),
        ("\u{FEFF}{}\n", ["{}"]),
        ("\u{FEFF}\r\n {}\n", ["{}"]),
        ("{}\n  {} \n", ["{}", "  {} "]),
        ("{}\r\r\n", ["{}\r"]),
        ("{\"a\":\r1}\n", ["{\"a\":\r1}"]),
        ("hello\n", ["hello"]),
        ("Content\n{}\n", ["Content", "{}"]),
        ("Content-Lengt", ["Content-Lengt"]),
        ("Content-Encoding: x\n{}", ["Content-Encoding: x", "{}"]),
        ("c\n", ["c"]),
        ("éa\n", ["éa"]),
        ("\u{FEFF}\u{FEFF}\n", ["\u{FEFF}"]),
    ])
    func `lines are messages`(stream: String, expected: [String]) {
        check(Array(stream.utf8), gives: expected.map { .message(Array($0.utf8)) }, framing: .line)
    }

    @Test(arguments: ["", "\n", " \r\n\t", "\u{FEFF}", "\u{FEFF}\n"])
    func `blanks are nothing`(stream: String) {
        check(Array(stream.utf8), gives: [], framing: nil)
    }

    @Test(arguments: [
        ("Content-Length: 2\r\n\r\n{}Content-Length: 3\r\n\r\n[1]", ["{}", "[1]"]),
        ("content-length:2\n\n{}", ["{}"]),
        ("CONTENT-LENGTH:   2  \r\n\r\n{}", ["{}"]),
        ("Content-Type: application/vscode-jsonrpc; charset=utf8\r\nContent-Length: 2\r\n\r\n{}", ["{}"]),
        ("Content-Length: 2\r\nContent-Type: x\r\nX-Other: y\r\n\r\n{}", ["{}"]),
        ("Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", ["{}"]),
        ("\u{FEFF}\r\n Content-Length: 2\r\n\r\n{}", ["{}"]),
        ("Content-Length: 2\r\n\r\n{}\r\n\nContent-Length: 2\r\n\r\n[]\n", ["{}", "[]"]),
        ("Content-Length: 0\r\n\r\nContent-Length: 2\r\n\r\n[]", ["", "[]"]),
        ("Content-Length: 4\r\n\r\n\r\n{}", ["\r\n{}"]),
        ("Content-Length: 3\r\n\r\n{}", []),
        ("Content-Length: 3\r\n", []),
    ])
    func `lengths in headers frame messages`(stream: String, expected: [String]) {
        check(Array(stream.utf8), gives: expected.map { .message(Array($0.utf8)) }, framing: .header)
    }

    @Test func `a NUL in a body is the parser's business`() {
        let stream = Array("Content-Length: 3\r\n\r\na\u{0}bContent-Length: 1\r\n\r\n1".utf8)
        check(stream, gives: messages("a\u{0}b", "1"), framing: .header)
    }

    @Test func `the user's choice overrides what the stream looks like`() {
        check(
            Array("Content-Length: 2\r\n\r\n{}".utf8), .line, gives: messages("Content-Length: 2", "{}"), framing: .line
        )
        check(Array("\n{}".utf8), .line, gives: messages("{}"), framing: .line)
        check(Array("X: y\nContent-Length: 1\n\n1".utf8), .header, gives: messages("1"), framing: .header)
        check(Array("{\"a\":1}\n".utf8), .header, gives: [.unframeable(.headerMalformed)], framing: .header)
    }

    private static let unframeable: [([UInt8], UnframeableReason)] = [
        ([0xFF, 0xFE, 0x7B, 0x00], .utf16),
        ([0xFE, 0xFF, 0x00, 0x7B], .utf16),
        ([0x7B, 0x00, 0x22, 0x00], .utf16),
        ([0x00, 0x7B, 0x00, 0x22], .utf16),
        ([0x0A, 0x00, 0x7B, 0x00], .utf16),
        ([0x94, 0x00, 0x01, 0xA3], .messagePack),
        ([0x83, 0xA7], .messagePack),
        (Array("\n\n\n\u{0}".utf8), .nulByte),
        (Array("ab\u{0}\n".utf8), .nulByte),
    ]

    @Test(arguments: unframeable)
    func `names what cannot be framed and then stops`(stream: [UInt8], reason: UnframeableReason) {
        var decoder = FrameDecoder(choice: .auto)
        #expect(stream.flatMap { decoder.feed([$0]) } == [.unframeable(reason)])
        #expect(decoder.feed(Array("\n{}\n".utf8)) == [])
        #expect(decoder.finish() == [])
        decoder = FrameDecoder(choice: .auto)
        #expect(decoder.feed(stream + Array("\n{}\n".utf8)) == [.unframeable(reason)])
    }

    @Test func `a NUL in a later line ends the stream`() {
        check(Array("{}\n[\u{0}]\n{}\n".utf8), gives: messages("{}") + [.unframeable(.nulByte)], framing: .line)
    }

    @Test(arguments: [
        ("Content-Type: x\r\n\r\n{}", UnframeableReason.headerWithoutLength),
        ("Content-Length: x\r\n\r\n", .headerMalformed),
        ("Content-Length: -1\r\n\r\n", .headerMalformed),
        ("Content-Length: +1\r\n\r\n", .headerMalformed),
        ("Content-Length: 1 2\r\n\r\n", .headerMalformed),
        ("Content-Length:\r\n\r\n", .headerMalformed),
        ("Content-Length: 99999999999999999999\r\n\r\n", .headerMalformed),
        ("Content-Length: 1\r\nContent-Length: 2\r\n\r\n12", .headerMalformed),
        ("Content-Length: 1\r\nnonsense\r\n\r\n1", .headerMalformed),
        ("Content-Length: 1\r\n: nonsense\r\n\r\n1", .headerMalformed),
        ("Content-Length: 1\r\n{\"a\": 2}\r\n\r\n1", .headerMalformed),
    ])
    func `a header block must make sense`(stream: String, reason: UnframeableReason) {
        check(Array(stream.utf8), gives: [.unframeable(reason)], framing: .header)
    }

    @Test(arguments: [false, true])
    func `a header block has a limit`(inOneLine: Bool) {
        let field = inOneLine ? "X-Y: " + String(repeating: "y", count: 20_000) : "X-Y: yyyyyyyyyy\r\n"
        var decoder = FrameDecoder(choice: .auto)
        var events = decoder.feed(Array("Content-Length: 2\r\n".utf8))
        for _ in 0..<2_000 where events.isEmpty { events += decoder.feed(Array(field.utf8)) }
        #expect(events == [.unframeable(.headerTooLong)])
    }

    @Test(arguments: ["\n", "\r\n"])
    func `a line of exactly the limit passes and one more byte does not`(end: String) {
        let line = [UInt8](repeating: 0x61, count: FrameLimits.messageByteCount)
        for pieceCount in [4096, 65_536, 3 << 20] {
            #expect(feed(line + Array(end.utf8), pieceByteCount: pieceCount) == [.message(line)])
            #expect(feed(line + Array("b\(end)".utf8), pieceByteCount: pieceCount) == [.messageTooLong])
        }
    }

    @Test func `10 MB in one line are skipped once and the next line counts`() {
        let stream = [UInt8](repeating: 0x61, count: 10_000_000) + Array("\n{}\n".utf8)
        for pieceCount in [4096, 65_536, 20_000_000] {
            #expect(feed(stream, pieceByteCount: pieceCount) == [.messageTooLong] + messages("{}"))
        }
    }

    @Test func `a last line that is too long is told once`() {
        let stream = [UInt8](repeating: 0x61, count: 3_000_000)
        #expect(feed(stream, pieceByteCount: 65_536) == [.messageTooLong])
    }

    @Test func `a body over the limit is skipped and the next message counts`() {
        let body = [UInt8](repeating: 0x61, count: FrameLimits.messageByteCount)
        let good = Array("Content-Length: 2\r\n\r\n{}".utf8)
        let exact = Array("Content-Length: \(body.count)\r\n\r\n".utf8) + body + good
        let long = Array("Content-Length: \(body.count + 1)\r\n\r\na".utf8) + body + good
        for pieceCount in [4096, 65_536, 3 << 20] {
            #expect(feed(exact, pieceByteCount: pieceCount) == [.message(body)] + messages("{}"))
            #expect(feed(long, pieceByteCount: pieceCount) == [.messageTooLong] + messages("{}"))
        }
    }

    @Test func `a length that no body will ever reach costs nothing`() {
        var decoder = FrameDecoder(choice: .auto)
        #expect(decoder.feed(Array("Content-Length: \(Int.max)\r\n\r\nabc".utf8)) == [.messageTooLong])
        #expect(decoder.finish() == [])
    }

    private func feed(_ stream: [UInt8], pieceByteCount: Int) -> [FrameEvent] {
        var decoder = FrameDecoder(choice: .auto)
        var events: [FrameEvent] = []
        for start in stride(from: 0, to: stream.count, by: pieceByteCount) {
            events += decoder.feed(Array(stream[start..<min(start + pieceByteCount, stream.count)]))
        }
        return events + decoder.finish()
    }

    @Test(arguments: Framing.allCases, ["{}", "[1,\"é\"]"])
    func `what is framed can be taken apart`(framing: Framing, text: String) {
        var stream: [UInt8] = []
        for _ in 0..<3 { framing.append(Array(text.utf8), to: &stream) }
        check(stream, gives: messages(text, text, text), framing: framing)
    }

    @Test func `frames are spelled exactly`() {
        var output: [UInt8] = []
        Framing.line.append(Array("{}".utf8), to: &output)
        Framing.header.append(Array("[12]".utf8), to: &output)
        #expect(String(decoding: output, as: UTF8.self) == "{}\nContent-Length: 4\r\n\r\n[12]")
    }
}
