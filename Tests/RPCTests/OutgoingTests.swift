import JSON
import RPC
import Testing

@Suite struct OutgoingTests {
    private func text(_ bytes: [UInt8]?) -> String? { bytes.map { String(decoding: $0, as: UTF8.self) } }

    @Test func `answers have exactly three members`() {
        let result = Response(id: .string("é"), result: ["ok": true])
        #expect(text(result.encoded()) == #"{"jsonrpc":"2.0","id":"\u00e9","result":{"ok":true}}"#)
        let null = Response(id: .null, result: .null)
        #expect(text(null.encoded()) == #"{"jsonrpc":"2.0","id":null,"result":null}"#)
        let error = Response(id: .integer(1), error: RPCError(.idConflict, "No.", extra: ["differs": ["url"]]))
        let expected =
            #"{"jsonrpc":"2.0","id":1,"error":{"code":1004,"message":"No.","#
            + #""data":{"kind":"idConflict","retryable":false,"differs":["url"]}}}"#
        #expect(text(error.encoded()) == expected)
    }

    @Test func `a batch's answers are one array and none are nothing`() {
        let one = Response(id: .integer(1), result: 1)
        #expect(Response.encodedBatch([]) == nil)
        #expect(text(Response.encodedBatch([one.encoded()])) == #"[{"jsonrpc":"2.0","id":1,"result":1}]"#)
        let both = #"[{"jsonrpc":"2.0","id":1,"result":1},{"jsonrpc":"2.0","id":1,"result":1}]"#
        #expect(text(Response.encodedBatch([one.encoded(), one.encoded()])) == both)
    }

    @Test func `notifications have exactly three members`() {
        let notification = Notification(method: "m", params: ["a": .null])
        #expect(text(notification.encoded()) == #"{"jsonrpc":"2.0","method":"m","params":{"a":null}}"#)
    }

    @Test func `error codes are distinct and where they belong`() {
        let ours = RPCErrorKind.allCases.filter(\.isOurs)
        // 1007 was never used and stays reserved.
        #expect(ours.map(\.code) == Array(1001...1013).filter { $0 != 1007 })
        let theirs = RPCErrorKind.allCases.filter { !$0.isOurs }
        #expect(Set(theirs.map(\.code)) == [-32700, -32600, -32601, -32602, -32603, -32800])
        for kind in RPCErrorKind.allCases {
            #expect(RPCError(kind, "m").kind == kind)
            #expect(kind.meaning.hasSuffix(".") && kind.advice.hasSuffix("."))
        }
    }

    @Test func `a long name is cut in a message`() {
        let error = RPCError.methodNotFound(String(repeating: "e\u{301}", count: 100_000))
        #expect(error.message.utf8.count < 300)
        #expect(RPCError.methodNotFound("foobar").message.contains("\"foobar\""))
    }
}
