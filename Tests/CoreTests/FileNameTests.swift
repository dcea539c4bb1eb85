import Testing

@testable import Core

@Suite struct FileNameTests {
    @Test(
        arguments: [
            Row("plain", "a.txt", "a.txt"),
            Row("upwards", "../../etc/passwd", "passwd"),
            Row("absolute", "/etc/passwd", "passwd"),
            Row("backslashes", "..\\..\\boot.ini", "boot.ini"),
            Row("trailing slash", "a/b/", "b"),
            Row("dots", "..", "download"), Row("dot", ".", "download"), Row("empty", "", "download"),
            Row("blanks and a tab", "  \t ", "_"), Row("only blanks", "   ", "download"),
            Row("slashes", "///", "download"),
            Row("dotfile", ".bashrc", "_bashrc"), Row("dots ahead", "..a", "_.a"),
            Row("blank then dot", " .ssh", "_ssh"),
            Row("hyphen", "-rf", "_-rf"), Row("blank then hyphen", " --help", "_--help"),
            Row("hyphen alone", "-", "_-"),
            Row("hyphen behind a path", "a/-o", "_-o"), Row("hyphen within", "a-b", "a-b"),
            Row("another dash", "–a", "–a"),
            Row("trailing dots and blanks", "a.txt. . ", "a.txt"),
            Row("NUL", "a\0.txt", "a_.txt"), Row("newline", "a\nb", "a_b"), Row("DEL", "a\u{7f}", "a_"),
            Row("C1", "a\u{9b}31m", "a_31m"),
            Row("right to left", "a\u{202e}gpj.exe", "a_gpj.exe"), Row("isolate", "a\u{2066}b", "a_b"),
            Row("line separator", "a\u{2028}b", "a_b"), Row("byte order mark", "a\u{feff}b", "a_b"),
            Row("joined emoji stays", "👩‍💻.png", "👩‍💻.png"),
            Row("wildcards", "a<b>:c|?*\"d", "a_b__c____d"),
            Row("stream", "a.txt:evil", "a.txt_evil"),
            Row("device", "CON", "_CON"), Row("device with extension", "nul.tar.gz", "_nul.tar.gz"),
            Row("device with blank", "aux .txt", "_aux .txt"), Row("COM1", "com1.log", "_com1.log"),
            Row("COM¹", "COM¹", "_COM¹"), Row("not a device", "com10", "com10"), Row("nor this", "console", "console"),
            Row("launcher", "a.desktop", "a.desktop.download"), Row("launcher in capitals", "A.LNK", "A.LNK.download"),
            Row("other scripts", "日本語.zip", "日本語.zip"), Row("percent stays", "100%25.txt", "100%25.txt"),
        ] as [Row<String, String>])
    func `names are made safe`(row: Row<String, String>) {
        #expect(FileName.sanitized(row.input) == row.expected)
    }

    private static let room = Limits.fileNameByteCount - FileName.partialSuffix.utf8.count

    @Test(
        arguments: [
            Row("no extension", String(repeating: "a", count: 500), ""),
            Row("extension kept", String(repeating: "a", count: 500) + ".zip", ".zip"),
            Row("two kept", String(repeating: "a", count: 500) + ".tar.gz", ".tar.gz"),
            Row(
                "what is too long is none",
                String(repeating: "a", count: 500) + "." + String(repeating: "b", count: 300), ""),
            Row("cut between scalars", String(repeating: "日", count: 300) + ".zip", ".zip"),
            Row("blanks at the cut", String(repeating: " a", count: 300) + ".zip", ".zip"),
        ] as [Row<String, String>])
    func `long names are cut, with room for the partial's suffix`(row: Row<String, String>) {
        let name = FileName.sanitized(row.input)
        #expect(name.utf8.count <= Self.room)
        #expect(name.utf8.count > Self.room - 4)
        #expect(name.hasSuffix(row.expected))
        let numbered = FileName.numbered(name, 12)
        #expect(numbered.utf8.count <= Self.room)
        #expect(numbered.hasSuffix(" (12)" + row.expected))
    }

    @Test func `a name is cut to what a file system takes`() {
        let name = FileName.shortened(String(repeating: "é", count: 100) + ".tar.gz", toByteCount: 143)
        #expect(name == String(repeating: "é", count: 64) + ".tar.gz")
        #expect(FileName.shortened("a.txt", toByteCount: 143) == "a.txt")
    }

    @Test(
        arguments: [
            Row("extension", "a.txt", "a (1).txt"), Row("none", "a", "a (1)"), Row("two", "a.tar.xz", "a (1).tar.xz"),
            Row("dots", "a.b.c", "a.b (1).c"), Row("leading dot", ".profile", ".profile (1)"),
            Row("tar alone", "a.tar", "a (1).tar"), Row("only tar", ".tar.gz", ".tar (1).gz"),
        ] as [Row<String, String>])
    func `numbers go before the extension`(row: Row<String, String>) {
        #expect(FileName.numbered(row.input, 1) == row.expected)
    }

    @Test(
        arguments: [
            Row("header wins", ("attachment; filename=a.txt", "/b.txt"), "a.txt"),
            Row("no header", (nil, "/dir/b.txt"), "b.txt"),
            Row("header without a name", ("attachment", "/b.txt"), "b.txt"),
            Row("header with a useless name", ("attachment; filename=\"..\"", "/b.txt"), "b.txt"),
            Row("decoded once", (nil, "/a%2520b.txt"), "a%20b.txt"),
            Row("encoded slash", (nil, "/x/..%2f..%2Fpasswd"), "passwd"),
            Row("encoded backslash", (nil, "/a%5Cb"), "b"), Row("encoded NUL", (nil, "/a%00b"), "a_b"),
            Row("encoded dots", (nil, "/%2e%2e"), "download"),
            Row("UTF-8", (nil, "/%E6%97%A5.zip"), "日.zip"), Row("Latin-1", (nil, "/caf%E9"), "café"),
            Row("broken escape", (nil, "/100%.txt"), "100%.txt"), Row("short escape", (nil, "/a%4"), "a%4"),
            Row("directory", (nil, "/dir/"), "download"), Row("root", (nil, "/"), "download"),
            Row("nothing", (nil, ""), "download"), Row("path parameters", (nil, "/a/..;/b;v=1"), "b;v=1"),
        ] as [Row<(String?, String), String>])
    func `the header's name, else the path's, else a plain one`(row: Row<(String?, String), String>) {
        #expect(FileName.suggested(contentDisposition: row.input.0, urlPath: row.input.1) == row.expected)
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `any text gives a safe name, and a safe name stays as it is`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let alphabet = Array("./\\ ~-aB9%é日\u{202e}\0\n:*\u{200d}👩nulcom1.tarlnk".unicodeScalars)
        for _ in 0..<1_500 {
            var view = String.UnicodeScalarView()
            for _ in 0..<Int.random(in: 0..<12, using: &generator) {
                let scalar = alphabet[Int.random(in: alphabet.indices, using: &generator)]
                let count = Int.random(in: 0..<40, using: &generator) == 0 ? 200 : 1
                view.append(contentsOf: repeatElement(scalar, count: count))
            }
            let name = FileName.sanitized(String(view))
            #expect(!name.isEmpty && name.utf8.count <= Self.room)
            #expect(name.unicodeScalars.first != "." && name.unicodeScalars.first != "-")
            #expect(name.unicodeScalars.last != "." && name.last != " ")
            #expect(!name.unicodeScalars.contains { $0 == "/" || $0 == "\\" || $0.value < 0x20 || $0 == "\u{202e}" })
            if !name.hasSuffix(".download") { #expect(FileName.sanitized(name) == name) }
        }
    }
}
