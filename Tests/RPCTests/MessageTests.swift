import JSON
import RPC
import Testing

@Suite struct MessageTests {
    private func decode(_ text: String) -> Incoming { Incoming(Array(text.utf8)) }

    /// The answers that follow from the grammar alone, as a client sees them.
    private func answers(_ text: String) -> String {
        func answer(_ message: Message) -> Response? {
            switch message {
            case .request(let id, let method, _): Response(id: id, result: .string(method))
            case .notification, .response: nil
            case .invalid(let id, let error): Response(id: id, error: error)
            }
        }
        func brief(_ response: Response) -> String {
            let id = String(decoding: response.id.json.serialized(), as: UTF8.self)
            return switch response.outcome {
            case .result(let value): "\(value.string ?? "?")#\(id)"
            case .failure(let error): "\(error.code)#\(id)"
            }
        }
        return switch decode(text) {
        case .single(let message): answer(message).map(brief) ?? ""
        case .batch(let messages): "[" + messages.compactMap(answer).map(brief).joined(separator: ",") + "]"
        }
    }

    // The examples of the JSON-RPC 2.0 specification, in their order.
    @Test(arguments: [
        (#"{"jsonrpc":"2.0","method":"subtract","params":[42,23],"id":1}"#, "subtract#1"),
        (#"{"jsonrpc":"2.0","method":"subtract","params":[23,42],"id":2}"#, "subtract#2"),
        (#"{"jsonrpc":"2.0","method":"subtract","params":{"subtrahend":23,"minuend":42},"id":3}"#, "subtract#3"),
        (#"{"jsonrpc":"2.0","method":"subtract","params":{"minuend":42,"subtrahend":23},"id":4}"#, "subtract#4"),
        (#"{"jsonrpc":"2.0","method":"update","params":[1,2,3,4,5]}"#, ""),
        (#"{"jsonrpc":"2.0","method":"foobar"}"#, ""),
        (#"{"jsonrpc":"2.0","method":"foobar","id":"1"}"#, #"foobar#"1""#),
        (#"{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]"#, "-32700#null"),
        (#"{"jsonrpc":"2.0","method":1,"params":"bar"}"#, "-32600#null"),
        (#"[{"jsonrpc":"2.0","method":"sum","params":[1,2,4],"id":"1"},{"jsonrpc":"2.0","method"]"#, "-32700#null"),
        ("[]", "-32600#null"),
        ("[1]", "[-32600#null]"),
        ("[1,2,3]", "[-32600#null,-32600#null,-32600#null]"),
        (
            #"[{"jsonrpc":"2.0","method":"sum","params":[1,2,4],"id":"1"},"#
                + #"{"jsonrpc":"2.0","method":"notify_hello","params":[7]},"#
                + #"{"jsonrpc":"2.0","method":"subtract","params":[42,23],"id":"2"},{"foo":"boo"},"#
                + #"{"jsonrpc":"2.0","method":"foo.get","params":{"name":"myself"},"id":"5"},"#
                + #"{"jsonrpc":"2.0","method":"get_data","id":"9"}]"#,
            ##"[sum#"1",subtract#"2",-32600#null,foo.get#"5",get_data#"9"]"##
        ),
        (
            #"[{"jsonrpc":"2.0","method":"notify_sum","params":[1,2,4]},"#
                + #"{"jsonrpc":"2.0","method":"notify_hello","params":[7]}]"#,
            "[]"
        ),
    ])
    func `the specification's examples`(text: String, expected: String) {
        #expect(answers(text) == expected)
    }

    @Test(arguments: [
        "0", "-1", "1.5", "1.50", "-0", "1e3", "0.1", "null", #""""#, #""a""#, #""towline:1""#, #""a\u0000b""#,
        #""\u00e9""#,
        "9007199254740992", "-9007199254740992",
    ])
    func `ids are echoed as they came`(id: String) {
        #expect(answers(#"{"jsonrpc":"2.0","id":\#(id),"method":"m"}"#) == "m#\(id)")
    }

    @Test(arguments: [
        "true", "false", "{}", "[]", "[1]", "9007199254740993", "-9007199254740993", "1e300", "9007199254740994.0",
    ])
    func `what cannot be an id is answered with null`(id: String) {
        #expect(answers(#"{"jsonrpc":"2.0","id":\#(id),"method":"m"}"#) == "-32600#null")
    }

    @Test func `an id has at most 500 bytes`() {
        let id = String(repeating: "é", count: 250)
        #expect(answers(#"{"jsonrpc":"2.0","id":"\#(id)","method":"m"}"#).hasPrefix("m#"))
        #expect(answers(#"{"jsonrpc":"2.0","id":"\#(id)a","method":"m"}"#) == "-32600#null")
        let digits = "1." + String(repeating: "0", count: 499)
        #expect(answers(#"{"jsonrpc":"2.0","id":\#(digits),"method":"m"}"#) == "-32600#null")
    }

    @Test func `equivalent spellings are different ids`() {
        #expect(RequestID.string("\u{E9}") != .string("e\u{301}"))
        #expect(RequestID.integer(1) != .string("1"))
        #expect(Set([RequestID.string("\u{E9}"), .string("e\u{301}"), .null, .null]).count == 3)
    }

    @Test(arguments: [
        (#"{"id":7,"method":"m"}"#, "-32600#7"),
        (#"{"jsonrpc":"1.0","id":7,"method":"m"}"#, "-32600#7"),
        (#"{"jsonrpc":2.0,"id":7,"method":"m"}"#, "-32600#7"),
        (#"{"jsonrpc":"2.0","id":"x"}"#, #"-32600#"x""#),
        (#"{"jsonrpc":"2.0"}"#, "-32600#null"),
        (#"{"jsonrpc":"2.0","id":7,"method":null}"#, "-32600#7"),
        (#"{"jsonrpc":"2.0","id":7,"method":"m","extra":1}"#, "-32600#7"),
        (#"{"jsonrpc":"2.0","id":7,"method":"m","result":1}"#, "-32600#7"),
        (#"{"jsonrpc":"2.0","id":7,"method":"m","params":"bar"}"#, "-32600#7"),
        (#"{"jsonrpc":"2.0","id":7,"method":"m","params":3}"#, "-32600#7"),
        (#"{"jsonrpc":"2.0","id":7,"method":""}"#, "#7"),
        (#"{"jsonrpc":"2.0","id":7,"id":8,"method":"m"}"#, "-32700#null"),
        (#"{"jsonrpc":"2.0","id":"towline:1","result":{}}"#, ""),
        (#"{"jsonrpc":"2.0","id":"towline:1","error":{"code":1,"message":"no"}}"#, ""),
        (#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"no"}}"#, ""),
        ("3", "-32600#null"),
        ("null", "-32600#null"),
        (#""hello""#, "-32600#null"),
        ("[[]]", "[-32600#null]"),
        ("", "-32700#null"),
        ("hello", "-32700#null"),
        ("{}", "-32600#null"),
        (#"{"jsonrpc":"2.0","id":18446744073709551616,"method":"m"}"#, "-32700#null"),
    ])
    func `edges of the envelope`(text: String, expected: String) {
        #expect(answers(text) == expected)
    }

    @Test func `names the member that does not belong`() {
        let incoming = decode(#"{"jsonrpc":"2.0","id":7,"method":"m","parms":{}}"#)
        guard case .single(.invalid(.integer(7), let error)) = incoming else {
            Issue.record("\(incoming)")
            return
        }
        #expect(error.message.contains("\"parms\""))
    }

    @Test(arguments: ["", #","params":null"#, #","params":[]"#, #","params":{}"#])
    func `no params are no params`(params: String) {
        let request = Message.request(.integer(1), method: "m", params: .named([:]))
        #expect(decode(#"{"jsonrpc":"2.0","id":1,"method":"m"\#(params)}"#) == .single(request))
    }

    @Test func `parameters by position are refused when they are asked for`() throws {
        let text = #"{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}"#
        guard case .single(.request(_, _, let params)) = decode(text) else {
            Issue.record("not a request")
            return
        }
        #expect(params == .positional([1]))
        let error = #expect(throws: RPCError.self) { try params.named() }
        #expect(error?.code == -32602)
        #expect(try Parameters.named(["a": 1]).named() == ["a": 1])
    }

    @Test(arguments: ["{", " [ ", "{\r"])
    func `a lone bracket hints at jq`(text: String) {
        guard case .single(.invalid(.null, let error)) = decode(text) else {
            Issue.record("not an error")
            return
        }
        #expect(error.code == -32700)
        #expect(error.message.contains("jq -c"))
    }

    @Test func `a batch has at most 64 messages`() {
        let text = Array(repeating: #"{"jsonrpc":"2.0","method":"m"}"#, count: 64).joined(separator: ",")
        guard case .batch(let messages) = decode("[\(text)]") else {
            Issue.record("not a batch")
            return
        }
        #expect(messages.count == 64)
        guard case .single(.invalid(.null, let error)) = decode("[\(text),1]") else {
            Issue.record("not one error")
            return
        }
        #expect(error.code == -32600)
        #expect(error.data == ["kind": "limitExceeded", "retryable": false, "limit": "batch", "maximum": 64])
    }

    @Test func `nesting and elements have limits that are named`() {
        let deep = String(repeating: "[", count: 33) + String(repeating: "]", count: 33)
        let wide = "[" + String(repeating: "0,", count: 10_000) + "0]"
        for (text, name, maximum) in [(deep, "nesting", 32), (wide, "elements", 10_000)] {
            guard case .single(.invalid(.null, let error)) = decode(text) else {
                Issue.record("not an error")
                continue
            }
            #expect(error.code == -32600)
            #expect(error.kind == .limitExceeded)
            #expect(error.data["limit"]?.string == name)
            #expect(error.data["maximum"]?.integer == Int64(maximum))
        }
    }
}
