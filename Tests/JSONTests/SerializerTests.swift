import JSON
import Testing

@Suite struct SerializerTests {
    private func text(_ value: JSONValue) -> String { String(decoding: value.serialized(), as: UTF8.self) }

    private static let texts: [(JSONValue, String)] = [
        (.null, "null"),
        (true, "true"),
        (false, "false"),
        (.integer(.min), "-9223372036854775808"),
        (.integer(.max), "9223372036854775807"),
        (0.1, "0.1"),
        (1e300, "1e+300"),
        ("", #""""#),
        ("plain / text", #""plain / text""#),
        ("\"\\", #""\"\\""#),
        ("é", #""\u00e9""#),
        ("\u{2028}\u{85}", #""\u2028\u0085""#),
        ("😀", #""\ud83d\ude00""#),
        ("\u{7F}", #""\u007f""#),
        ("\u{0}\u{1}\u{8}\u{9}\u{A}\u{B}\u{C}\u{D}\u{1B}\u{1F}", #""\u0000\u0001\b\t\n\u000b\f\r\u001b\u001f""#),
        ("\u{FFFF}\u{10FFFF}", #""\uffff\udbff\udfff""#),
        ([], "[]"),
        ([:], "{}"),
        ([1, [], ["a"]], #"[1,[],["a"]]"#),
        (["b": 1, "a": .null, "é": [:]], #"{"b":1,"a":null,"\u00e9":{}}"#),
    ]

    @Test(arguments: texts)
    func `writes compact ASCII`(value: JSONValue, expected: String) throws {
        #expect(text(value) == expected)
        #expect(try parseJSON(expected) == value)
    }

    @Test func `every character survives the way out and back`() throws {
        // All of the basic plane in blocks, and characters around the edges of planes.
        let edges: [UInt32] = [0x10000, 0x1F600, 0x1FFFF, 0x20000, 0xFFFFF, 0x10FFFD, 0x10FFFF]
        for block in 0...256 {
            let codes = block < 256 ? Array(UInt32(block * 256)..<UInt32(block * 256 + 256)) : edges
            let text = String(String.UnicodeScalarView(codes.compactMap { Unicode.Scalar($0) }))
            let bytes = JSONValue.string(text).serialized()
            #expect(bytes.allSatisfy { $0 >= 0x20 && $0 < 0x7F })
            #expect(try parseJSON(bytes) == .string(text))
        }
    }

    @Test func `appends to what is there`() {
        var output: [UInt8] = Array("data: ".utf8)
        JSONObject([("a", 1)]).serialize(into: &output)
        #expect(String(decoding: output, as: UTF8.self) == "data: {\"a\":1}")
    }
}
