import JSON
import Testing

@Suite struct ParserTests {
    private static let valid: [(String, JSONValue)] = [
        ("null", .null),
        (" true\r\n", true),
        ("false", false),
        ("0", 0),
        ("-7", -7),
        ("9223372036854775807", .integer(.max)),
        ("-9223372036854775808", .integer(.min)),
        ("\"\"", ""),
        (#""a\"\\\/\b\f\n\r\t""#, "a\"\\/\u{8}\u{C}\n\r\t"),
        (#""\u00e9\u2028\uD83D\uDE00""#, "é\u{2028}😀"),
        ("\"é😀\u{7F}\"", "é😀\u{7F}"),
        (#""a\u0000b""#, "a\u{0}b"),
        ("[]", []),
        ("[1,[2],{}]", [1, [2], [:]]),
        ("{\"a\":1,\"\":null}", ["a": 1, "": .null]),
        (#"{"]":"}","[":"\"["}"#, ["]": "}", "[": "\"["]),
        ("\t[ 1 , 2 ]\n", [1, 2]),
    ]

    @Test(arguments: valid)
    func `takes valid JSON`(text: String, expected: JSONValue) throws {
        #expect(try parseJSON(text) == expected)
    }

    @Test(arguments: [
        "[", "]", "{", "}", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}",
        "{'a':1}",
        "{1:1}", "{\"a\":1 \"b\":2}", "01", "-", "+1", "1.", ".5", "1e", "1e+", "0x1", "NaN", "Infinity", "-Infinity",
        "nul",
        "True", "\"", "\"\\\"", "\"\\x\"", "\"\\u12\"", "\"a\nb\"", "\"a\tb\"", "1 2", "[1]x", "[1]]", "// c\n1",
        "/**/1",
        "\u{FEFF}1", "1\u{0}", "[1]\u{0}", "\u{0}", "\u{C}[]", "\u{A0}[]", "*", "1,", "-01", "2.e3", "[--1]", "\"\\",
    ])
    func `refuses what is not JSON`(text: String) {
        let error = #expect(throws: JSONParseError.self) { try parseJSON(text) }
        #expect(error?.kind == .syntax || error?.kind == .truncated)
        #expect((0...text.utf8.count).contains(error?.byteOffset ?? -1))
    }

    @Test(arguments: [
        ("", JSONParseError.Kind.truncated),
        (" ", .truncated),
        ("{\"a\":1", .truncated),
        ("[1}", .syntax),
        ("{\"a\":1,\"a\":2}", .duplicateKey),
        (#"{"a":1,"\u0061":2}"#, .duplicateKey),
        ("9223372036854775808", .numberOutOfRange),
        ("-9223372036854775809", .numberOutOfRange),
        ("1e400", .numberOutOfRange),
        (#"{"a\u0000":1}"#, .containsNUL),
    ])
    func `says what is wrong`(text: String, kind: JSONParseError.Kind) {
        let error = #expect(throws: JSONParseError.self) { try parseJSON(text) }
        #expect(error?.kind == kind)
    }

    @Test(
        arguments: [
            [0x22, 0xFF, 0x22], [0x22, 0xC0, 0x80, 0x22], [0x22, 0xE9, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22],
            [0x22, 0xF4, 0x90, 0x80, 0x80, 0x22], [0x22, 0xE2, 0x82, 0x22],
        ] as [[UInt8]])
    func `refuses bytes that are not UTF-8`(bytes: [UInt8]) {
        let error = #expect(throws: JSONParseError.self) { try parseJSON(bytes) }
        #expect(error?.kind == .invalidUTF8)
    }

    @Test(arguments: [#""\ud800""#, #""\udc00""#, #""\ud800\u0041""#, #""\ud800\ud800""#])
    func `refuses half of a surrogate pair`(text: String) {
        #expect(throws: JSONParseError.self) { try parseJSON(text) }
    }

    @Test(arguments: [("[", "]"), ("{\"a\":", "}")])
    func `takes 32 levels and refuses 33`(open: String, close: String) throws {
        func nested(_ depth: Int) -> String {
            String(repeating: open, count: depth - 1) + "[]" + String(repeating: close, count: depth - 1)
        }
        #expect(throws: Never.self) { try parseJSON(nested(JSONLimits.depth)) }
        let error = #expect(throws: JSONParseError.self) { try parseJSON(nested(JSONLimits.depth + 1)) }
        #expect(error?.kind == .tooDeep)
    }

    @Test func `nesting without an end is refused before it costs anything`() {
        let error = #expect(throws: JSONParseError.self) { try parseJSON(String(repeating: "[", count: 1_000_000)) }
        #expect(error?.kind == .tooDeep)
    }

    @Test func `brackets in a string are not nesting`() throws {
        let text = String(repeating: "[{,", count: 20_000)
        #expect(try parseJSON("[\"\(text)\"]") == [.string(text)])
    }

    @Test func `an escaped quote does not end a string and an escaped backslash does not keep it open`() throws {
        let brackets = String(repeating: "[", count: JSONLimits.depth + 1)
        #expect(try parseJSON(##"["\"\##(brackets)"]"##) == [.string("\"" + brackets)])
        let value = try parseJSON(#"{"\\": 1.50, "b": "\"2.5", "c\\\"": 3.50}"#)
        #expect(String(decoding: value.serialized(), as: UTF8.self) == #"{"\\":1.50,"b":"\"2.5","c\\\"":3.50}"#)
    }

    @Test func `takes 10000 elements and refuses one more`() throws {
        func flat(_ count: Int) -> String { "[" + Array(repeating: "0", count: count).joined(separator: ",") + "]" }
        #expect(try parseJSON(flat(JSONLimits.elementCount)).array?.count == JSONLimits.elementCount)
        let error = #expect(throws: JSONParseError.self) { try parseJSON(flat(JSONLimits.elementCount + 1)) }
        #expect(error?.kind == .tooManyElements)
    }

    @Test func `keeps the members' order`() throws {
        let keys = (0..<100).map { "key\(($0 * 37) % 100)" }
        let text = "{" + keys.map { "\"\($0)\":0" }.joined(separator: ",") + "}"
        #expect(try parseJSON(text).object?.keys == keys)
    }

    @Test(arguments: ["1.5", "1.50", "-0", "-0.0", "1e3", "1E+3", "1.0", "0.1", "1e-400", "123456789.123456789"])
    func `a real keeps its text`(text: String) throws {
        let value = try parseJSON(" [7, \"3\", {\"4\": \(text)}, -1]")
        guard case .real(let real) = value.array?[2]["4"] else {
            Issue.record("not a real: \(value)")
            return
        }
        #expect(real.text == text)
        #expect(real.value == Double(text))
        #expect(value.array?[3] == -1)
    }
}
