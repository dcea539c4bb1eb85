import JSON
import Testing

@Suite struct ValueTests {
    @Test func `accessors answer only for their own type`() {
        let all: [JSONValue] = [.null, true, 1, 1.5, "s", [1], ["k": 1]]
        #expect(all.map(\.isNull) == [true, false, false, false, false, false, false])
        #expect(all.map(\.bool) == [nil, true, nil, nil, nil, nil, nil])
        #expect(all.map(\.integer) == [nil, nil, 1, nil, nil, nil, nil])
        #expect(all.map(\.string) == [nil, nil, nil, nil, "s", nil, nil])
        #expect(all.map { $0.array?.count } == [nil, nil, nil, nil, nil, 1, nil])
        #expect(all.map { $0["k"] } == [nil, nil, nil, nil, nil, nil, 1])
    }

    @Test(
        arguments: [
            ("1.0", 1), ("1e3", 1000), ("-0", 0), ("9007199254740991.0", 9_007_199_254_740_991), ("1e16", nil),
            ("1.5", nil),
            ("-1e300", nil),
        ] as [(String, Int64?)])
    func `a whole number may be written as a real`(text: String, expected: Int64?) throws {
        #expect(try parseJSON(text).integer == expected)
    }

    @Test func `objects are equal in any order`() {
        let object: JSONValue = ["a": 1, "b": [true]]
        #expect(object == ["b": [true], "a": 1])
        #expect(object != ["b": [true], "a": 2])
        #expect(object != ["a": 1])
        #expect(object != ["a": 1, "c": [true]])
        #expect([1, 2] as JSONValue != [2, 1])
    }

    @Test func `two spellings of one letter are two strings`() {
        let composed = "\u{E9}"
        let decomposed = "e\u{301}"
        #expect(JSONValue.string(composed) != .string(decomposed))
        let object = JSONObject([("\u{212A}", 1)])
        #expect(object["K"] == nil)
        #expect(object["\u{212A}"] == 1)
    }

    @Test func `nil becomes null`() {
        let missing: String? = nil
        let number: Int? = 3
        let value: JSONValue = ["a": .optional(missing), "b": .optional(number), "c": .optional(true)]
        #expect(value == ["a": .null, "b": 3, "c": true])
    }

    @Test func `setting a member replaces, appends or removes`() {
        var object: JSONObject = ["a": 1, "b": 2]
        object["a"] = 3
        object["c"] = .null
        object["b"] = nil
        object["d"] = nil
        #expect(object.keys == ["a", "c"])
        #expect(object["a"] == 3)
        #expect(object["c"] == .null)
    }
}
