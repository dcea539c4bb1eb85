import JSON
import Testing

@testable import Service

@Suite struct ValidationTests {
    private static let schema = Schema.object(
        [
            Member("name", .string(TextRule(1...8, limit: "nameBytes")), "", isRequired: true),
            Member("limit", .integer(1...100), ""),
            Member("mode", .choice(["fast", "slow"]), ""),
            Member("deep", .object([Member("maxAttempts", .integer(0...9), "")], isClosed: true), ""),
            Member("ids", .array(of: .string(TextRule(1...4)), counts: 0...2), ""),
            Member("headers", .map(values: .string(TextRule(0...4)), maxCount: 2), ""),
            Member("token", .anyOf([.string(TextRule(0...3)), .integer(0...9)]), ""),
            Member("metadata", .anyObject(maxByteCount: 16), ""),
            Member("host", .nullable(.integer(0...9)), ""),
            Member("checked", .string(TextRule(0...9) { $0 == "no" ? "must not be no" : nil }), ""),
        ],
        isClosed: true
    )

    private func check(_ text: String) throws -> Result<JSONValue, ParameterError> {
        let value = try parseJSON(text)
        do throws(ParameterError) {
            return .success(try Self.schema.checked(value, at: "params"))
        } catch {
            return .failure(error)
        }
    }

    @Test(arguments: [
        (#"{}"#, "params.name: missing, expected a string of at most 8 bytes"),
        (#"{"name":null}"#, "params.name: expected a string, got null"),
        (#"{"name":""}"#, "params.name: must not be empty"),
        (#"{"name":"123456789"}"#, "params.name: expected at most 8 bytes, got 9"),
        (#"{"name":"\u00e9\u00e9\u00e9\u00e9\u00e9"}"#, "params.name: expected at most 8 bytes, got 10"),
        (#"{"name":"a","limit":500}"#, "params.limit: expected integer 1…100, got 500"),
        (#"{"name":"a","limit":0}"#, "params.limit: expected integer 1…100, got 0"),
        (#"{"name":"a","limit":1.5}"#, "params.limit: expected integer 1…100, got 1.5"),
        (#"{"name":"a","limit":true}"#, "params.limit: expected integer 1…100, got true"),
        (#"{"name":"a","limit":"7"}"#, "params.limit: expected integer 1…100, got a string of 1 bytes"),
        (#"{"name":"a","limti":5}"#, "params.limti: unknown member, did you mean 'limit'?"),
        (#"{"name":"a","connections":5}"#, "params.connections: unknown member"),
        (#"{"name":"a","mode":"fsat"}"#, "params.mode: expected one of fast, slow, got 'fsat', did you mean 'fast'?"),
        (#"{"name":"a","mode":[]}"#, "params.mode: expected one of fast, slow, got an array of 0"),
        (
            #"{"name":"a","deep":{"maxAttempts":10}}"#,
            "params.deep.maxAttempts: expected integer 0…9, got 10"
        ),
        (#"{"name":"a","deep":{"x":1}}"#, "params.deep.x: unknown member"),
        (#"{"name":"a","deep":7}"#, "params.deep: expected an object, got 7"),
        (#"{"name":"a","ids":["a","b","c"]}"#, "params.ids: expected an array of 0…2, got an array of 3"),
        (#"{"name":"a","ids":["a",7]}"#, "params.ids[1]: expected a string, got a number"),
        (#"{"name":"a","headers":{"A":"secret"}}"#, "params.headers.A: expected at most 4 bytes, got 6"),
        (
            #"{"name":"a","token":false}"#,
            "params.token: expected a string of at most 3 bytes or integer 0…9, got false"
        ),
        (#"{"name":"a","metadata":{"k":"0123456789"}}"#, "params.metadata: expected at most 16 bytes of JSON, got 18"),
        (#"{"name":"a","metadata":[1]}"#, "params.metadata: expected an object, got an array of 1"),
        (#"{"name":"a","checked":"no"}"#, "params.checked: must not be no"),
        (#"[1]"#, "params: expected an object, got an array of 1"),
    ])
    func `what does not fit is named by its path and limit`(text: String, message: String) throws {
        guard case .failure(let error) = try check(text) else {
            Issue.record("taken: \(text)")
            return
        }
        #expect(error.message == message)
    }

    @Test(arguments: [
        (#"{"name":"a"}"#, #"{"name":"a"}"#),
        (#"{"name":"a","limit":null,"deep":null}"#, #"{"name":"a"}"#),
        (#"{"name":"a","_trace":[1]}"#, #"{"name":"a"}"#),
        (#"{"name":"a","deep":{"_x":1,"maxAttempts":null}}"#, #"{"name":"a","deep":{}}"#),
        (#"{"name":"a","limit":1e2}"#, #"{"name":"a","limit":100}"#),
        (#"{"name":"a","host":null}"#, #"{"name":"a","host":null}"#),
        (#"{"name":"a","token":"abc"}"#, #"{"name":"a","token":"abc"}"#),
        (#"{"name":"a","metadata":[],"deep":[]}"#, #"{"name":"a","metadata":{},"deep":{}}"#),
        (#"{"name":"a","metadata":{"n":null,"_":1}}"#, #"{"name":"a","metadata":{"n":null,"_":1}}"#),
    ])
    func `null options and underscored members mean nothing, all else is kept`(text: String, kept: String) throws {
        #expect(try check(text) == .success(try parseJSON(kept)))
    }

    @Test func `an open object keeps what it does not know`() throws {
        let schema = Schema.object([Member("a", .boolean, "")], isClosed: false)
        let value = try parseJSON(#"{"a":true,"b":{"c":1}}"#)
        #expect(try schema.checked(value, at: "params") == value)
    }

    @Test func `a limit that was passed is told as a number too`() throws {
        guard case .failure(let error) = try check(#"{"name":"123456789"}"#) else {
            Issue.record("taken")
            return
        }
        #expect(error.limit == NamedLimit(name: "nameBytes", maximum: 8))
    }

    @Test func `a long name is cut`() throws {
        let key = String(repeating: "k", count: 10_000)
        guard case .failure(let error) = try check(#"{"name":"a","\#(key)":1}"#) else {
            Issue.record("taken")
            return
        }
        #expect(error.message.utf8.count < 200)
    }
}

@Suite struct SpellingTests {
    @Test(arguments: [
        ("checksumm", "checksum"), ("cheksum", "checksum"), ("Checksum", "checksum"), ("cehcksum", "checksum"),
        ("ulr", "url"), ("filename", "fileName"),
    ])
    func `a slip is recognised`(word: String, meant: String) {
        #expect(Spelling.nearest(to: word, in: ["url", "path", "checksum", "fileName"]) == meant)
    }

    @Test(arguments: ["", "u", "connections", "sum", String(repeating: "checksum", count: 1_000)])
    func `another word is not`(word: String) {
        #expect(Spelling.nearest(to: word, in: ["url", "path", "checksum", "fileName"]) == nil)
    }
}
