import Core
import JSON
import RPC
import Testing

@testable import Service

@Suite struct MethodTableTests {
    /// Checks params as the session does before a method sees them.
    private func refusal(of name: String, _ params: String) throws -> String? {
        let method = try #require(MethodTable.method(name))
        let object = try #require(try parseJSON(params).object)
        do throws(ParameterError) {
            _ = try Schema.checked(
                object,
                members: method.parameters,
                isClosed: !method.takesUnknownParameters,
                at: "params"
            )
            return nil
        } catch {
            return error.message
        }
    }

    @Test func `all methods of this version are there, once each`() {
        let names = MethodTable.methods.map(\.name)
        #expect(
            Set(names) == [
                "start", "pause", "resume", "cancel", "update", "remove", "get", "list", "wait", "inspect", "export",
                "subscribe",
                "unsubscribe", "configure", "info", "ping", "rpc.discover", "initialize", "shutdown",
            ]
        )
        #expect(names.count == Set(names).count)
    }

    @Test(arguments: MethodTable.methods.map(\.name))
    func `no parameter is named twice`(name: String) throws {
        let names = try #require(MethodTable.method(name)).parameters.map(\.name)
        #expect(names.count == Set(names).count)
    }

    @Test(arguments: [
        #""connections":4"#, #""maxBytesPerSecond":1"#, #""proxy":"http://p""#, #""tls":{}"#,
        #""auth":{}"#, #""httpVersion":"2""#, #""ipVersion":"4""#, #""totalTimeoutMs":1"#, #""waitForNetwork":true"#,
        #""method":"POST""#, #""body":"x""#,
    ])
    func `what this version cannot do is refused by name`(member: String) throws {
        let message = try #require(try refusal(of: "start", #"{"url":"http://h/f",\#(member)}"#))
        let name = try #require(member.split(separator: "\"").first)
        #expect(message.hasPrefix("params.\(name): "))
    }

    @Test(arguments: ["proxy", "tls", "method", "body", "totalTimeoutMs", "checksum"])
    func `a default that start could not take is refused by name`(name: String) throws {
        let message = try refusal(of: "configure", #"{"defaults":{"\#(name)":"x"}}"#)
        #expect(message == "params.defaults.\(name): unknown member")
    }

    @Test func `start takes everything that configure can preset`() {
        let start = Set(MethodDescription.start.parameters.map(\.name))
        #expect(start.isSuperset(of: Parameter.defaults.map(\.name)))
    }

    @Test(arguments: [
        ("initialize", #"{"capabilities":{},"clientInfo":{"name":"x"},"trace":"off","processId":null}"#),
        ("initialize", #"{"initializationOptions":[1,2]}"#),
        ("ping", #"{"_trace":"x"}"#),
        ("list", #"{"fields":["id","state"],"states":["active"],"limit":100}"#),
        ("wait", #"{"id":"a","workDoneToken":7,"timeoutMs":0,"until":"settled"}"#),
        ("wait", #"{"all":true,"workDoneToken":"t"}"#),
        ("cancel", #"{"ids":["a"],"deletePartial":false}"#),
        ("shutdown", #"{}"#),
        ("configure", #"{"defaults":{"headers":{"A":"b"},"userAgent":"x","retry":{"maxAttempts":3}}}"#),
    ])
    func `what hosts send is taken`(name: String, params: String) throws {
        #expect(try refusal(of: name, params) == nil)
    }

    @Test func `a notification of the client is not a method, and those of ours cannot be sent to us`() {
        #expect(MethodTable.method("exit") == nil)
        #expect(MethodTable.notification("exit") != nil)
        #expect(MethodTable.notification("changed") == nil)
    }
}

@Suite struct OpenRPCTests {
    private static let document = OpenRPC.document(version: "1.2.3")

    @Test func `two documents are the same bytes`() {
        #expect(OpenRPC.text(version: "1.2.3") == OpenRPC.text(version: "1.2.3"))
    }

    @Test func `the document fits into an answer`() {
        #expect(OpenRPC.text(version: "1.2.3").count < OutgoingLimits.messageByteCount - 1_000)
    }

    @Test func `every method has a result, and its errors are inline`() throws {
        let methods = try #require(Self.document["methods"]?.array)
        #expect(methods.count == MethodTable.methods.count)
        for method in methods {
            #expect(method["result"]?["schema"]?.object != nil)
            let errors = try #require(method["errors"]?.array)
            #expect(errors.allSatisfy { $0["code"]?.integer != nil && $0["message"]?.string != nil })
        }
    }

    @Test func `every reference leads to a component, and every component is referred to`() throws {
        let components = try #require(Self.document["components"]?["schemas"]?.object)
        var references: Set<String> = []
        collect(.object(Self.document), into: &references)
        #expect(references == Set(components.keys.map { "#/components/schemas/\($0)" }))
    }

    @Test func `notifications stand apart from methods`() throws {
        let names = try #require(Self.document["x-notifications"]?.array).compactMap { $0["name"]?.string }
        #expect(Set(names) == Set(MethodTable.notifications.map(\.name)))
    }

    private func collect(_ value: JSONValue, into references: inout Set<String>) {
        if let reference = value["$ref"]?.string { references.insert(reference) }
        for (_, value) in value.object?.members ?? [] { collect(value, into: &references) }
        for value in value.array ?? [] { collect(value, into: &references) }
    }
}
