package import JSON

/// The parameters of a call.
package enum Parameters: Equatable, Sendable {
    /// By name; empty when `params` is absent, null, `[]` or `{}`.
    case named(JSONObject)
    /// By position; never empty.
    case positional([JSONValue])

    /// The parameters by name, as all our methods take them.
    ///
    /// - Throws: invalidParams for parameters by position. Call this only for a known method: an unknown method must be
    ///   reported first.
    package func named() throws(RPCError) -> JSONObject {
        switch self {
        case .named(let object): object
        case .positional: throw .invalidParams("params must be an object: parameters are taken by name only.")
        }
    }
}

/// One JSON-RPC message from the host.
package enum Message: Equatable, Sendable {
    /// Must be answered, with this id.
    case request(RequestID, method: String, params: Parameters)
    /// Never answered, even if its method or parameters are wrong.
    case notification(method: String, params: Parameters)
    /// An answer; the service sends no requests and ignores it.
    case response
    /// Must be answered with this error and id.
    case invalid(RequestID, RPCError)

    /// Finds out what kind of message a JSON value is.
    package init(_ value: JSONValue) {
        guard let object = value.object else {
            self = .invalid(.null, .invalidRequest("A message must be a JSON object."))
            return
        }
        if object["method"] == nil && (object["result"] != nil || object["error"] != nil) {
            self = .response
            return
        }
        let id: RequestID?
        do throws(RPCError) {
            id = try object["id"].map { value throws(RPCError) in try RequestID(value) }
        } catch {
            self = .invalid(.null, error)
            return
        }
        do throws(RPCError) {
            let (method, params) = try Message.call(in: object)
            self =
                id.map { .request($0, method: method, params: params) } ?? .notification(method: method, params: params)
        } catch {
            self = .invalid(id ?? .null, error)
        }
    }

    /// True for the members of a request, and for members that libraries add, mostly for tracing (W3C Trace Context and
    /// Baggage); those are ignored.
    private static func isMember(_ key: String) -> Bool {
        ["jsonrpc", "id", "method", "params", "meta", "traceparent", "tracestate", "baggage"].contains(key)
            || key.hasPrefix("_")
    }

    private static func call(in object: JSONObject) throws(RPCError) -> (method: String, params: Parameters) {
        guard object["jsonrpc"] == "2.0" else {
            throw .invalidRequest("The member jsonrpc must be the string \"2.0\".")
        }
        for key in object.keys where !isMember(key) {
            throw .invalidRequest("A request has no member \(quoted(key)).")
        }
        guard let method = object["method"]?.string else {
            throw .invalidRequest("The member method must be a string.")
        }
        switch object["params"] ?? .null {
        case .null: return (method, .named([:]))
        case .object(let members): return (method, .named(members))
        case .array(let elements): return (method, elements.isEmpty ? .named([:]) : .positional(elements))
        case .bool, .integer, .real, .string: throw .invalidRequest("The member params must be an object.")
        }
    }
}

/// The content of one frame.
package enum Incoming: Equatable, Sendable {
    /// One message, or the error for a frame that is not a message.
    case single(Message)
    /// Answered with one array of the answers in order, or with nothing if there are none.
    case batch([Message])

    /// The most messages in a batch.
    package static let maximumBatchCount = 64

    /// Parses a frame's bytes.
    package init(_ bytes: [UInt8]) {
        do throws(JSONParseError) {
            self.init(try parseJSON(bytes))
        } catch {
            let text = bytes.filter { !isBlank($0) }
            let isPrettyPrinted = text == [UInt8(ascii: "{")] || text == [UInt8(ascii: "[")]
            let hint =
                "This line is only the start of a JSON value; put each message on one line, for example with jq -c."
            self = .single(.invalid(.null, isPrettyPrinted ? .parseError(hint) : RPCError(error)))
        }
    }

    private init(_ value: JSONValue) {
        guard let elements = value.array else {
            self = .single(Message(value))
            return
        }
        if elements.isEmpty {
            self = .single(.invalid(.null, .invalidRequest("A batch must not be empty.")))
        } else if elements.count > Incoming.maximumBatchCount {
            let error = RPCError.messageLimitExceeded(
                "A batch has more than \(Incoming.maximumBatchCount) messages.",
                name: "batch", maximum: Incoming.maximumBatchCount
            )
            self = .single(.invalid(.null, error))
        } else {
            self = .batch(elements.map { Message($0) })
        }
    }
}
