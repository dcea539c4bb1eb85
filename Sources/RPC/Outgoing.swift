package import JSON

/// The limits of a message that we send.
package enum OutgoingLimits {
    /// Bytes of one message, batches excepted: some readers in Python and Go stop at 64 KiB per line. The code that
    /// creates a message must keep the limit; the writer does not check it.
    package static let messageByteCount = 64_000
}

/// The answer to one request.
package struct Response: Equatable, Sendable {
    /// The outcome of the request.
    package enum Outcome: Equatable, Sendable {
        /// An object; null only for `shutdown`.
        case result(JSONValue)
        /// The request failed.
        case failure(RPCError)
    }

    /// The request's own id.
    package var id: RequestID
    /// The outcome of the request.
    package var outcome: Outcome

    /// The answer to a request that succeeded.
    package init(id: RequestID, result: JSONValue) {
        self.id = id
        outcome = .result(result)
    }

    /// The answer to a request that failed.
    package init(id: RequestID, error: RPCError) {
        self.id = id
        outcome = .failure(error)
    }

    /// The message without framing: `jsonrpc`, `id`, and either `result` or `error`; no other member.
    package func encoded() -> [UInt8] {
        var output: [UInt8] = []
        encode(into: &output)
        // Many may be queued for long: release the capacity that is not used.
        var exact: [UInt8] = []
        exact.reserveCapacity(output.count)
        exact += output
        return exact
    }

    /// The answer to a batch without framing, from the single answers; nil when there is nothing to answer.
    package static func encodedBatch(_ responses: [[UInt8]]) -> [UInt8]? {
        if responses.isEmpty { return nil }
        var output: [UInt8] = []
        output.reserveCapacity(responses.reduce(1) { $0 + $1.count + 1 })
        output.append(UInt8(ascii: "["))
        for (index, response) in responses.enumerated() {
            if index > 0 { output.append(UInt8(ascii: ",")) }
            output += response
        }
        output.append(UInt8(ascii: "]"))
        return output
    }

    private func encode(into output: inout [UInt8]) {
        let object: JSONObject =
            switch outcome {
            case .result(let value): ["jsonrpc": "2.0", "id": id.json, "result": value]
            case .failure(let error): ["jsonrpc": "2.0", "id": id.json, "error": .object(error.json)]
            }
        object.serialize(into: &output)
    }
}

/// A message that expects no answer.
package struct Notification: Equatable, Sendable {
    /// The event's name.
    package var method: String
    /// The details of the event.
    package var params: JSONObject

    /// A notification of an event.
    package init(method: String, params: JSONObject) {
        self.method = method
        self.params = params
    }

    /// The message without framing: `jsonrpc`, `method` and `params`; no other member.
    package func encoded() -> [UInt8] {
        let object: JSONObject = ["jsonrpc": "2.0", "method": .string(method), "params": .object(params)]
        return JSONValue.object(object).serialized()
    }
}
