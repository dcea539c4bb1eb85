import Testing

@testable import Core

@Suite struct ContentDispositionTests {
    @Test(
        arguments: [
            Row("token", "attachment; filename=foo.html", "foo.html"),
            Row("quoted", "attachment; filename=\"foo.html\"", "foo.html"),
            Row("inline", "inline; filename=\"foo.html\"", "foo.html"),
            Row("no type", "filename=foo.html", "foo.html"),
            Row("names in capitals", "ATTACHMENT; FILENAME=\"foo.html\"", "foo.html"),
            Row("no blank", "attachment;filename=foo.html", "foo.html"),
            Row("trailing semicolon", "attachment; filename=foo.html ;", "foo.html"),
            Row("blanks around equals", "attachment; filename =\t\"foo.html\"", "foo.html"),
            Row("blanks in a bare value", "attachment; filename=foo bar.html", "foo bar.html"),
            Row("quoted pair", "attachment; filename=\"f\\oo\\\".html\"", "foo\".html"),
            Row("semicolon in quotes", "attachment; filename=\"a;b=c.txt\"; x=y", "a;b=c.txt"),
            Row("no closing quote", "attachment; filename=\"foo.html", "foo.html"),
            Row("closing backslash", "attachment; filename=\"foo\\", "foo"),
            Row("other parameters", "attachment; size=5; filename=foo; x=\"y\"", "foo"),
            Row("not percent-decoded", "attachment; filename=\"foo-%41.html\"", "foo-%41.html"),
            Row("not RFC 2047", "attachment; filename=\"=?UTF-8?B?Zm9v?=\"", "=?UTF-8?B?Zm9v?="),
            Row("first of two", "attachment; filename=\"a\"; filename=\"b\"", "a"),
            Row("UTF-8", "attachment; filename=\"naïve.txt\"", "naïve.txt"),
            Row("extended", "attachment; filename*=UTF-8''foo-%c3%a4-%e2%82%ac.html", "foo-ä-€.html"),
            Row("extended, Latin-1", "attachment; filename*=iso-8859-1''foo-%E4.html", "foo-ä.html"),
            Row("extended, with language", "attachment; filename*=utf-8'en'%41", "A"),
            Row("extended wins", "attachment; filename=\"a\"; filename*=UTF-8''b", "b"),
            Row("extended wins, first", "attachment; filename*=UTF-8''b; filename=\"a\"", "b"),
            Row("first right extended", "attachment; filename*=UTF-8''%; filename*=UTF-8''b", "b"),
            Row("extended, not UTF-8", "attachment; filename*=UTF-8''%E4; filename=a", "a"),
            Row("extended, unknown charset", "attachment; filename*=utf-16''%41; filename=a", "a"),
            Row("extended, one quote", "attachment; filename*=UTF-8'foo; filename=a", "a"),
            Row("extended, broken escape", "attachment; filename*=UTF-8''foo%; filename=a", "a"),
            Row("extended, bad digits", "attachment; filename*=UTF-8''foo%zz; filename=a", "a"),
            Row("extended, blank", "attachment; filename*=UTF-8''foo bar; filename=a", "a"),
            Row("continuations are no names", "attachment; filename*0=\"foo.\"; filename*1=\"html\"", nil),
            Row("a name that contains it", "attachment; xfilename=foo", nil),
            Row("type only", "attachment", nil), Row("empty", "", nil), Row("semicolons", ";;;", nil),
            Row("empty name", "attachment; filename=\"\"", ""), Row("no value", "attachment; filename", nil),
            Row("too long", "attachment; filename=" + String(repeating: "a", count: 8_192), nil),
        ] as [Row<String, String?>])
    func `names`(row: Row<String, String?>) {
        #expect(ContentDisposition.fileName(row.input) == row.expected)
    }

    @Test func `random text never traps`() {
        var generator = SeededGenerator(seed: 8)
        let pieces = ["filename", "*", "=", "\"", ";", "\\", "'", "%", "4", "UTF-8''", " ", "é", "attachment"]
        for _ in 0..<3_000 {
            let count = Int.random(in: 0..<12, using: &generator)
            let text = "a;filename=" + (0..<count).compactMap { _ in pieces.randomElement(using: &generator) }.joined()
            let name = ContentDisposition.fileName(text)
            #expect((name ?? "").utf8.count <= text.utf8.count && (name != nil || count > 0))
        }
    }
}
