import Testing

@testable import Core

@Suite struct ContentRangeTests {
    private static func range(_ lower: Int64, _ upper: Int64, _ total: Int64?, lenient: Bool = false) -> ContentRange {
        ContentRange(range: ByteRange(lower, upper), totalByteCount: total, isLenient: lenient)
    }

    @Test(
        arguments: [
            Row("plain", "bytes 50-199/200", range(50, 200, 200)),
            Row("first byte", "bytes 0-0/1", range(0, 1, 1)),
            Row("unknown length", "bytes 50-199/*", range(50, 200, nil)),
            Row("unit in capitals", "BYTES 50-199/200", range(50, 200, 200)),
            Row("blanks around", " \tbytes 50-199/200 ", range(50, 200, 200)),
            Row("leading zeros", "bytes 0050-0199/00200", range(50, 200, 200)),
            Row("equals sign", "bytes=50-199/200", range(50, 200, 200, lenient: true)),
            Row("no unit", "50-199/200", range(50, 200, 200, lenient: true)),
            Row("unsatisfied", "bytes */200", ContentRange(range: nil, totalByteCount: 200)),
            Row("unsatisfied, empty file", "bytes */0", ContentRange(range: nil, totalByteCount: 0)),
            Row(
                "largest", "bytes 9007199254740990-9007199254740990/9007199254740991",
                range(9_007_199_254_740_990, 9_007_199_254_740_991, 9_007_199_254_740_991)),
        ] as [Row<String, ContentRange>])
    func `well-formed and named lenient forms are read`(row: Row<String, ContentRange>) throws {
        #expect(try ContentRange(row.input) == row.expected)
    }

    @Test(arguments: [
        "", "bytes", "bytes ", "bytes 50-199", "bytes 50-199/", "bytes -199/200", "bytes 50-/200", "bytes 50/200",
        "bytes 199-50/200", "bytes 50-200/200", "bytes 50-199/50", "bytes */*", "bytes */", "items 50-199/200",
        "items */200", "bytes: 50-199/200", "bytes50-199/200", "bytes  50-199/200", "bytes 50 - 199/200",
        "bytes 50-199 /200", "bytes +50-199/200", "bytes 50--199/200", "bytes 0x32-199/200", "bytes 50-199/200,300",
        "bytes 50-199/200/300", "bytes ５０-199/200", "bytes 50-9007199254740991/*",
        "bytes 0-9007199254740991/9007199254740992", "bytes 0-99999999999999999999/*", "bytes 0-1/99999999999999999999",
        "bytes 00000000000000000000-1/2", "bytes 0-0/0", "bytes\t0-0/1",
    ])
    func `anything else is refused`(value: String) {
        #expect(throws: MalformedField.self) { try ContentRange(value) }
    }

    @Test func `repeated fields must agree`() throws {
        #expect(try ContentRange.parse([]) == nil)
        #expect(try ContentRange.parse(["bytes 0-1/2", "bytes 0-1/2"]) == Self.range(0, 2, 2))
        #expect(throws: MalformedField.self) { try ContentRange.parse(["bytes 0-1/2", "bytes 0-1/3"]) }
    }

    @Test func `random text never traps, and what is read is consistent`() {
        var generator = SeededGenerator(seed: 5)
        let alphabet = Array("bytes  =0123456789-/**".unicodeScalars)
        for _ in 0..<3_000 {
            var text = String.UnicodeScalarView("bytes 1-".unicodeScalars)
            for _ in 0..<Int.random(in: 0...9, using: &generator) {
                if let scalar = alphabet.randomElement(using: &generator) { text.append(scalar) }
            }
            guard let parsed = try? ContentRange(String(text)), let range = parsed.range else { continue }
            #expect(range.lowerBound == 1)
            #expect(parsed.totalByteCount.map { range.upperBound <= $0 } ?? true)
        }
    }
}

@Suite struct BodyFramingTests {
    @Test(
        arguments: [
            Row("none", [], nil), Row("one", ["5"], 5), Row("zero", ["0"], 0), Row("blanks", [" 5 "], 5),
            Row("equal fields", ["5", "5"], 5), Row("equal list", ["5, 5"], 5), Row("leading zeros", ["005"], 5),
            Row("largest", ["9007199254740991"], 9_007_199_254_740_991),
        ] as [Row<[String], Int64?>])
    func `a length is read`(row: Row<[String], Int64?>) throws {
        #expect(try ContentLength.parse(row.input) == row.expected)
    }

    @Test(arguments: [
        [""], ["-1"], ["+5"], ["12abc"], ["5.0"], ["0x5"], ["5", "6"], ["5, 6"], ["5,"], [",5"], ["5 5"],
        ["9007199254740992"], ["9223372036854775808"], ["99999999999999999999"], ["5", ""],
    ])
    func `a wrong length is refused`(values: [String]) {
        #expect(throws: MalformedField.self) { try ContentLength.parse(values) }
    }

    @Test(
        arguments: [
            Row("length", ResponseHead(status: 200, fields: [.init("Content-Length", "5")]), (5, true)),
            Row("chunked", ResponseHead(status: 200, fields: [.init("Transfer-Encoding", "chunked")]), (nil, true)),
            Row(
                "chunked outweighs a length",
                ResponseHead(
                    status: 200, fields: [.init("Content-Length", "5"), .init("transfer-encoding", "Chunked")]),
                (nil, true)),
            Row("until close", ResponseHead(status: 200), (nil, false)),
            Row("HTTP/1.0 until close", ResponseHead(status: 200, httpVersion: 10), (nil, false)),
            Row("HTTP/2 ends its streams", ResponseHead(status: 200, httpVersion: 20), (nil, true)),
        ] as [Row<ResponseHead, (Int64?, Bool)>])
    func `the end of a body is proven by length, last chunk or stream end`(
        row: Row<ResponseHead, (Int64?, Bool)>
    ) throws {
        let framing = try BodyFraming(row.input)
        #expect(framing.byteCount == row.expected.0)
        #expect(framing.isEndProven == row.expected.1)
    }

    @Test(arguments: ["gzip, chunked", "gzip", "foo"])
    func `transfer codings that were not asked for are refused`(value: String) {
        let head = ResponseHead(status: 200, fields: [.init("Transfer-Encoding", value)])
        #expect(throws: MalformedField.self) { try BodyFraming(head) }
    }
}

@Suite struct RetryAfterTests {
    private static func head(_ value: String?, date: Int64? = nil, serverDate: Int64? = nil) -> ResponseHead {
        ResponseHead(
            status: 503, fields: value.map { [.init("Retry-After", $0)] } ?? [], dateSeconds: serverDate,
            retryAfterDateSeconds: date)
    }

    @Test(
        arguments: [
            Row("absent", head(nil), nil), Row("seconds", head("120"), 120_000), Row("zero", head("0"), 1_000),
            Row("an hour", head("3600"), 3_600_000), Row("a day", head("86400"), 3_600_000),
            Row("ten digits", head("1000000000"), 3_600_000), Row("64 bits", head("9223372036854775807"), 3_600_000),
            Row("too many digits", head("99999999999999999999999"), 3_600_000), Row("garbage", head("soon"), nil),
            Row("negative", head("-5"), nil), Row("empty", head(""), nil),
            Row("date ahead", head("Thu", date: 1_060), 60_000), Row("date in the past", head("Thu", date: 10), 1_000),
            Row("date far ahead", head("Thu", date: 1_000_000), 3_600_000),
            Row("date at the end of time", head("Thu", date: .max), 3_600_000),
            Row("date before time", head("Thu", date: .min), 1_000),
            Row("the server's clock counts", head("Thu", date: 560, serverDate: 500), 60_000),
            Row("dates that overflow", head("Thu", date: .max, serverDate: .min), 3_600_000),
        ] as [Row<ResponseHead, Int64?>])
    func `waits are read and bounded`(row: Row<ResponseHead, Int64?>) {
        #expect(RetryAfter.milliseconds(row.input, nowSeconds: 1_000) == row.expected)
    }
}

@Suite struct ContentCodingTests {
    @Test(
        arguments: [
            Row("absent", [], []), Row("identity", ["identity"], []), Row("gzip", ["GZip"], ["gzip"]),
            Row("two", ["gzip, br"], ["gzip", "br"]), Row("meaningless", ["aws-chunked"], []),
            Row("leftover beside a real one", ["aws-chunked,gzip"], ["gzip"]), Row("empty", [""], []),
            Row("two fields", ["gzip", "identity"], ["gzip"]),
        ] as [Row<[String], [String]>])
    func `codings in force`(row: Row<[String], [String]>) {
        let head = ResponseHead(status: 200, fields: row.input.map { .init("Content-Encoding", $0) })
        #expect(ContentCoding.inForce(head) == row.expected)
    }

    @Test(
        arguments: [
            Row("gz by path", (["gzip"], "/a/b.tar.gz", nil), true),
            Row("tgz in capitals", (["x-gzip"], "/B.TGZ", nil), true),
            Row("gzip by type", (["gzip"], "/b", "application/x-gzip; a=b"), true),
            Row("text", (["gzip"], "/b.txt", "text/plain"), false),
            Row("zst", (["zstd"], "/b.zst", nil), true),
            Row("another coding than the name's", (["br"], "/b.gz", nil), false),
            Row("twice", (["gzip", "gzip"], "/b.gz", nil), false), Row("unknown", (["foo"], "/b.gz", nil), false),
            Row("a folder's ending", (["gzip"], "/b.gz/c", nil), false), Row("no path", (["gzip"], "", nil), false),
        ] as [Row<([String], String, String?), Bool>])
    func `a coding may only label a compressed file`(row: Row<([String], String, String?), Bool>) {
        let (codings, path, type) = row.input
        #expect(ContentCoding.labelsFile(codings, path: path, contentType: type) == row.expected)
    }
}
