import Core
import Testing

@Suite struct ExistingFileTests {
    private static let date = "Mon, 06 Jan 2020 10:00:00 GMT"
    private static let seconds: Int64 = 1_578_304_800
    private static let plain = ExistingFile(byteCount: 10, modifiedSeconds: seconds)

    private static func recorded(etag: String? = nil, lastModified: String? = nil) -> ExistingFile {
        var file = ExistingFile(byteCount: 10, modifiedSeconds: 1_700_000_000)
        file.entity = Entity(
            totalByteCount: 10, etag: etag, lastModified: lastModified, isLastModifiedStrong: lastModified != nil)
        return file
    }

    private static func head(_ status: Int = 200, _ fields: [String: String]) -> ResponseHead {
        ResponseHead(
            status: status, fields: fields.map { ResponseHead.Field($0.key, $0.value) },
            lastModifiedSeconds: fields["Last-Modified"] == date ? seconds : nil)
    }

    @Test func `what the request asks`() {
        let fields = Self.plain.conditions
        #expect(fields == [HeaderField("If-Modified-Since", Self.date)])
        #expect(
            Self.recorded(etag: "W/\"a\"", lastModified: Self.date).conditions == [
                HeaderField("If-None-Match", "W/\"a\""), HeaderField("If-Modified-Since", Self.date),
            ])
        var asked = Self.plain
        asked.isAskedForLength = true
        #expect(asked.conditions.isEmpty)
        #expect(ExistingFile(byteCount: 1, modifiedSeconds: -1).conditions.isEmpty)
    }

    @Test(arguments: [
        Row("304 to a time", head(304, [:]), ExistingFile.Verdict.askForLength),
        Row("304 with the length", head(304, ["Content-Length": "10"]), .unchanged(.notModified)),
        Row("304 with another length", head(304, ["Content-Length": "0"]), .askForLength),
        Row(
            "length and time", head(200, ["Content-Length": "10", "Last-Modified": date]),
            .unchanged(.sameLengthAndTime)),
        Row("another length", head(200, ["Content-Length": "11", "Last-Modified": date]), .different),
        Row("another time", head(200, ["Content-Length": "10", "Last-Modified": "x"]), .different),
        Row("no length", head(200, ["Last-Modified": date]), .different),
        Row(
            "a length that chunks overrule",
            head(200, ["Content-Length": "10", "Transfer-Encoding": "chunked", "Last-Modified": date]), .different),
        Row(
            "a compressed length",
            head(200, ["Content-Length": "10", "Content-Encoding": "gzip", "Last-Modified": date]), .different),
        Row("a part", head(206, ["Content-Range": "bytes 0-9/10"]), .none),
        Row("an error", head(503, [:]), .none),
        Row("a redirect", head(302, ["Location": "/"]), .none),
    ]) func `what an answer says of a file that nobody knows`(row: Row<ResponseHead, ExistingFile.Verdict>) {
        #expect(Self.plain.verdict(row.input) == row.expected)
    }

    @Test(arguments: [
        Row("304 to a validator", head(304, [:]), ExistingFile.Verdict.unchanged(.notModified)),
        Row("304 with it", head(304, ["ETag": "W/\"a\""]), .unchanged(.notModified)),
        Row("304 with another", head(304, ["ETag": "\"b\""]), .askForLength),
        Row("304 with it and another length", head(304, ["ETag": "\"a\"", "Content-Length": "9"]), .askForLength),
        Row(
            "304 with it and no length", head(304, ["ETag": "\"a\"", "Content-Length": "0"]), .unchanged(.notModified)),
        Row("the same validator", head(200, ["Content-Length": "10", "ETag": "\"a\""]), .unchanged(.record)),
        Row("the same, another length", head(200, ["Content-Length": "9", "ETag": "\"a\""]), .different),
        Row("another validator", head(200, ["Content-Length": "10", "ETag": "\"b\""]), .different),
        Row("no validator", head(200, ["Content-Length": "10"]), .different),
    ]) func `what an answer says of a file that a record knows`(row: Row<ResponseHead, ExistingFile.Verdict>) {
        #expect(Self.recorded(etag: "\"a\"").verdict(row.input) == row.expected)
    }

    @Test(arguments: [
        Row("its length", head(200, ["Content-Length": "10"]), ExistingFile.Verdict.unchanged(.notModified)),
        Row("another length", head(200, ["Content-Length": "5"]), .different),
        Row("its time", head(200, ["Content-Length": "10", "Last-Modified": date]), .unchanged(.notModified)),
        Row("no length", head(200, [:]), .different),
        Row("304", head(304, [:]), .none),
        Row("304 with another length", head(304, ["Content-Length": "300000"]), .none),
        Row("304 without a length", head(304, ["Content-Length": "0"]), .none),
        Row("304 with two lengths", head(304, ["Content-Length": "10, 11"]), .none),
        Row("304 with its length", head(304, ["Content-Length": "10"]), .unchanged(.notModified)),
    ]) func `the length decides when that is asked for`(row: Row<ResponseHead, ExistingFile.Verdict>) {
        var asked = Self.plain
        asked.isAskedForLength = true
        #expect(asked.verdict(row.input) == row.expected)
    }

    @Test func `a time behind the one that a 304 was for is another version's`() {
        var asked = ExistingFile(byteCount: 10, modifiedSeconds: Self.seconds - 1, isAskedForLength: true)
        let head = Self.head(200, ["Content-Length": "10", "Last-Modified": Self.date])
        #expect(asked.verdict(head) == .different)
        asked.modifiedSeconds = Self.seconds + 1
        #expect(asked.verdict(head) == .unchanged(.notModified))
    }

    @Test(arguments: [
        Row(
            "its validator", head(200, ["Content-Length": "10", "ETag": "\"a\""]),
            ExistingFile.Verdict.unchanged(.record)),
        Row("another", head(200, ["Content-Length": "10", "ETag": "\"b\""]), .different),
        Row("another, weak", head(200, ["Content-Length": "10", "ETag": "W/\"b\""]), .different),
        Row("none", head(200, ["Content-Length": "10"]), .different),
        Row("its validator, another length", head(200, ["Content-Length": "9", "ETag": "\"a\""]), .different),
        Row("304", head(304, ["ETag": "\"a\""]), .none),
        Row("304 with all of it", head(304, ["Content-Length": "10", "ETag": "\"a\""]), .unchanged(.notModified)),
        Row("304 with its length and another", head(304, ["Content-Length": "10", "ETag": "\"b\""]), .none),
    ]) func `a record is compared when the length is asked for`(row: Row<ResponseHead, ExistingFile.Verdict>) {
        var asked = Self.recorded(etag: "\"a\"")
        asked.isAskedForLength = true
        #expect(asked.verdict(row.input) == row.expected)
    }

    @Test(arguments: [
        Row("304 with its date", head(304, ["Last-Modified": date]), ExistingFile.Verdict.unchanged(.notModified)),
        Row("304 with another", head(304, ["Last-Modified": "Tue, 07 Jan 2020 10:00:00 GMT"]), .askForLength),
        Row("304 with a length", head(304, ["Content-Length": "300000"]), .askForLength),
    ]) func `what a 304 says of a file with a date on record`(row: Row<ResponseHead, ExistingFile.Verdict>) {
        #expect(Self.recorded(lastModified: Self.date).verdict(row.input) == row.expected)
    }

    // From RFC 9110 and RFC 1123, and days at which calendars often go wrong.
    @Test(arguments: [
        Row("RFC 9110", 784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
        Row("the first", 0, "Thu, 01 Jan 1970 00:00:00 GMT"),
        Row("a leap day", 951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
        Row("no leap day", 4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
        Row("the last", 253_402_300_799, "Fri, 31 Dec 9999 23:59:59 GMT"),
        Row("behind it", 253_402_300_800, nil),
        Row("before the first", -1, nil),
        Row("the least", .min, nil),
    ]) func dates(row: Row<Int64, String?>) {
        #expect(HTTPDateText.text(seconds: row.input) == row.expected)
    }
}
