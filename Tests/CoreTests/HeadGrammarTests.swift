import Testing

@testable import Core

@Suite struct HeadGrammarTests {
    private func status(_ line: String) -> HeadGrammar.Status? { try? HeadGrammar.status(Array(line.utf8)[...]) }

    @Test(
        arguments: [
            Row("1.1", "HTTP/1.1 200 OK", .init(httpVersion: 11, code: 200)),
            Row("1.0", "HTTP/1.0 404 Not Found", .init(httpVersion: 10, code: 404)),
            Row("no reason", "HTTP/1.1 200", .init(httpVersion: 11, code: 200)),
            Row("an empty reason", "HTTP/1.1 206 ", .init(httpVersion: 11, code: 206)),
            Row("several blanks", "HTTP/1.1   103  Early", .init(httpVersion: 11, code: 103)),
            Row("a CR behind the code", "HTTP/1.1 200\r", nil), Row("a CR in the reason", "HTTP/1.1 200 O\rK", nil),
            Row("HTTP/2", "HTTP/2 200", nil), Row("HTTP/2.0", "HTTP/2.0 200 OK", nil),
            Row("HTTP/1", "HTTP/1 200 OK", nil), Row("HTTP/1.2", "HTTP/1.2 200 OK", nil),
            Row("HTTP/1.10", "HTTP/1.10 200 OK", nil), Row("small letters", "http/1.1 200 OK", nil),
            Row("a blank before it", " HTTP/1.1 200 OK", nil), Row("a tab", "HTTP/1.1\t200 OK", nil),
            Row("two digits", "HTTP/1.1 20 OK", nil), Row("four digits", "HTTP/1.1 2000 OK", nil),
            Row("a sign", "HTTP/1.1 +20 OK", nil), Row("below 100", "HTTP/1.1 099 OK", nil),
            Row("no code", "HTTP/1.1 OK", nil), Row("cut", "HTTP/1.1 ", nil), Row("empty", "", nil),
        ] as [Row<String, HeadGrammar.Status?>])
    func `status lines`(row: Row<String, HeadGrammar.Status?>) {
        #expect(status(row.input) == row.expected)
    }

    /// The kind of the last of some lines; nil when it is refused.
    private func kind(_ lines: [String]) -> HeadGrammar.FieldKind? {
        var kind: HeadGrammar.FieldKind?
        for line in lines {
            guard let next = try? HeadGrammar.kind(Array(line.utf8)[...], after: kind) else { return nil }
            kind = next
        }
        return kind
    }

    @Test(
        arguments: [
            Row("a length", ["Content-Length: 5"], .framing), Row("capitals", ["TRANSFER-ENCODING:x"], .framing),
            Row("a range", ["content-range:"], .framing), Row("a coding", ["Content-Encoding:  gzip"], .framing),
            Row("another field", ["ETag: \"Content-Length: 5\""], .other), Row("no name", [": x"], .other),
            Row("another name with its letters", ["Content_Length: 5"], .other),
            Row("a name that ends in it", ["X-Content-Length: 5"], .other),
            Row("a blank in another name", ["Server : x"], .other),
            Row("another field goes on", ["A: b", "  c: d"], .other),
            Row("a CR within a field", ["A: b\rc: d"], nil), Row("a CR at its end", ["A: b\r"], nil),
            Row("a blank before the colon", ["Content-Length : 5"], nil),
            Row("a tab before the colon", ["Content-Length\t: 5"], nil),
            Row("a control character", ["Content-\u{b}Length: 5"], nil),
            Row("a byte beyond ASCII", ["Content-Length\u{a0}: 5"], nil),
            Row("a blank for the hyphen", ["Content Length: 5"], nil),
            Row("a framing field goes on", ["Content-Length: 5", " "], nil),
            Row("it goes on later", ["A: b", "Content-Length: 5", "\tx"], nil),
            Row("another field goes on with one", ["A: b", " Content-Length: 5"], nil),
            Row("the first line goes on", [" A: b"], nil), Row("no colon", ["A"], nil),
            Row("a CR at first", ["\rA: b"], nil), Row("one behind a CR", ["A: b\rContent-Length: 5"], nil),
            Row("one behind two", ["A: b\r\r Content-Length : 5"], nil),
        ] as [Row<[String], HeadGrammar.FieldKind?>])
    func `field lines`(row: Row<[String], HeadGrammar.FieldKind?>) {
        #expect(kind(row.input) == row.expected)
    }

    @Test(arguments: [
        Row("once", ["chunked"], true), Row("in capitals", ["Chunked"], true),
        Row("behind identity", ["identity, chunked"], false), Row("before it", ["chunked", "identity"], false),
        Row("nothing", [""], false), Row("a comma", [","], false), Row("behind nothing", [", chunked"], false),
        Row("before nothing", ["chunked,"], false), Row("beside an empty field", ["", "chunked"], false),
        Row("twice", ["chunked, chunked"], false), Row("twice in two fields", ["chunked", "chunked"], false),
        Row("with a parameter", ["chunked;a=b"], false), Row("in quotes", ["\"chunked\""], false),
        Row("behind a control character", ["\u{b}chunked"], false),
    ])
    func `chunked stands once and as it is spelled`(row: Row<[String], Bool>) {
        let head = ResponseHead(status: 200, fields: row.input.map { .init("Transfer-Encoding", $0) })
        #expect(((try? BodyFraming(head))?.isEndProven ?? false) == row.expected)
    }
}
