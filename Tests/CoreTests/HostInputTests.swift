import Testing

@testable import Core

@Suite struct HeaderRulesTests {
    @Test(
        arguments: [
            Row("ordinary", [HeaderField("Authorization", "Bearer x")], nil),
            Row("none", [], nil), Row("empty value", [HeaderField("X-A", "")], nil),
            Row("tab", [HeaderField("X-A", "a\tb")], nil), Row("not ASCII", [HeaderField("X-A", "é")], nil),
            Row("odd token", [HeaderField("!#$%&'*+-.^_`|~09aZ", "x")], nil),
            Row("twice", [HeaderField("X-A", "1"), HeaderField("X-A", "2")], nil),
            Row("empty name", [HeaderField("", "x")], .nameNotToken),
            Row("blank in name", [HeaderField("X A", "x")], .nameNotToken),
            Row("colon in name", [HeaderField("X:A", "x")], .nameNotToken),
            Row("name not ASCII", [HeaderField("X-é", "x")], .nameNotToken),
            Row("line feed in name", [HeaderField("X\nHost", "x")], .nameNotToken),
            Row("CR", [HeaderField("X-A", "a\rb")], .valueHasControlCharacter),
            Row("LF", [HeaderField("X-A", "a\nb")], .valueHasControlCharacter),
            Row("CR LF, one character", [HeaderField("X-A", "a\r\nHost: b")], .valueHasControlCharacter),
            Row("NUL", [HeaderField("X-A", "a\0")], .valueHasControlCharacter),
            Row("DEL", [HeaderField("X-A", "a\u{7f}")], .valueHasControlCharacter),
            Row("second is wrong", [HeaderField("X-A", "a"), HeaderField("X-B", "\u{1}")], .valueHasControlCharacter),
            Row("just enough", [HeaderField("X", String(repeating: "a", count: 16_379))], nil),
            Row("too much", [HeaderField("X", String(repeating: "a", count: 16_380))], .tooLarge),
            Row("too many", (0..<4_000).map { HeaderField("X\($0)", "") }, .tooLarge),
        ] as [Row<[HeaderField], HeaderViolation.Rule?>])
    func `headers are checked`(row: Row<[HeaderField], HeaderViolation.Rule?>) {
        #expect(Self.violation(row.input)?.rule == row.expected)
    }

    @Test(arguments: [
        "Host", "content-length", "Transfer-Encoding", "CONNECTION", "Range", "If-Range", "If-Match", "If-None-Match",
        "If-Modified-Since", "If-Unmodified-Since", "Accept-Encoding", "TE", "Trailer", "Upgrade", "Expect",
        "Proxy-Authorization", "Proxy-Connection", "Keep-Alive", "HTTP2-Settings",
    ])
    func `what the service sets is refused by name`(name: String) {
        let violation = Self.violation([HeaderField(name, "secret")])
        #expect(violation == HeaderViolation(name: name, rule: .reserved))
        #expect(violation?.message.contains(name) == true)
        #expect(violation?.message.contains("secret") == false)
    }

    private static func violation(_ headers: [HeaderField]) -> HeaderViolation? {
        do throws(HeaderViolation) {
            try HeaderRules.validate(headers)
            return nil
        } catch {
            return error
        }
    }
}

@Suite struct RedactionTests {
    @Test(
        arguments: [
            Row("nothing to hide", "https://h.example/a/b.zip", "https://h.example/a/b.zip"),
            Row("userinfo", "https://me:pw@h.example/a", "https://***@h.example/a"),
            Row("user only", "https://token@h.example/a", "https://***@h.example/a"),
            Row("two signs", "https://a@b@h.example/a", "https://***@h.example/a"),
            Row("sign in the path", "https://h.example/@scope/p", "https://h.example/@scope/p"),
            Row("query", "https://h/a?x=1&y=2&y=", "https://h/a?x=***&y=***&y=***"),
            Row("query without names", "https://h/a?sometoken", "https://h/a?***"),
            Row("empty query", "https://h/a?", "https://h/a?"),
            Row("equals signs in a value", "https://h/a?x=1=2", "https://h/a?x=***"),
            Row("question mark in a value", "https://h/a?x=1?y=2", "https://h/a?x=***"),
            Row("fragment", "https://h/a#secret", "https://h/a#***"),
            Row("fragment with a query in it", "https://h/a#b?c=d", "https://h/a#***"),
            Row("all", "https://u:p@h:8080/a?k=v#f", "https://***@h:8080/a?k=***#***"),
            Row("no path", "https://u@h?k=v", "https://***@h?k=***"),
            Row("no scheme", "u:p@h/a?k=v", "***@h/a?k=***"), Row("empty", "", ""),
            Row("a mark joined to the separator", "https://h/a?\u{301}secret", "https://h/a?***"),
            Row("another", "https://h/a?k=\u{301}secret", "https://h/a?k=***"),
            Row("a third", "https://u:secret@\u{301}h/", "https://***@\u{301}h/"),
        ] as [Row<String, String>])
    func `URLs for logs hold no secret`(row: Row<String, String>) {
        #expect(Redaction.url(row.input).utf8.elementsEqual(row.expected.utf8), "\(Redaction.url(row.input))")
    }
}

@Suite struct LimitsTests {
    @Test(
        arguments: [
            Row("letter", "a", true), Row("digit", "9", true), Row("all kinds", "aZ0._-", true),
            Row("64", String(repeating: "a", count: 64), true), Row("65", String(repeating: "a", count: 65), false),
            Row("empty", "", false), Row("dot first", ".a", false), Row("dash first", "-a", false),
            Row("slash", "a/b", false), Row("blank", "a b", false), Row("not ASCII", "é", false),
            Row("line feed at the end", "a\n", false), Row("other digits", "١", false),
        ] as [Row<String, Bool>])
    func `download ids`(row: Row<String, Bool>) {
        #expect(Limits.isDownloadID(row.input) == row.expected)
    }
}
