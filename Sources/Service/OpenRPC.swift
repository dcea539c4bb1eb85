package import JSON
internal import RPC

/// The description of the protocol, generated from the method table.
package enum OpenRPC {
    /// The document as in OpenRPC 1.3; identical for the same version, byte for byte.
    package static func document(version: String) -> JSONObject {
        var components: [String: Component] = [:]
        for method in MethodTable.methods {
            method.result.collectComponents(into: &components)
            for parameter in method.parameters { parameter.schema.collectComponents(into: &components) }
        }
        for notification in MethodTable.notifications {
            Schema.component(ParamsDocument.component(of: notification)).collectComponents(into: &components)
        }
        for component in [Envelope.request, Envelope.response, Envelope.notification] {
            Schema.component(component).collectComponents(into: &components)
        }
        let schemas = components.sorted { $0.key < $1.key }.map { ($0.key, JSONValue.object($0.value.document())) }
        return [
            "openrpc": "1.3.2",
            "info": [
                "title": "Towline",
                "description": "A headless download service, spoken to in JSON-RPC 2.0 on standard input and output.",
                "version": .string(Session.protocolVersion),
                "x-serviceVersion": .string(version),
            ],
            "methods": .array(MethodTable.methods.map { .object(document($0)) }),
            "x-notifications": .array(MethodTable.notifications.map { .object(document($0)) }),
            "x-errors": .array(RPCErrorKind.allCases.map { .object(document($0)) }),
            "x-envelope": [
                "request": reference(Envelope.request), "response": reference(Envelope.response),
                "notification": reference(Envelope.notification),
            ],
            "x-limits": .object(Session.encodedLimits),
            "components": ["schemas": .object(JSONObject(schemas))],
        ]
    }

    /// The document as text with a newline.
    package static func text(version: String) -> [UInt8] {
        JSONValue.object(document(version: version)).serialized() + [UInt8(ascii: "\n")]
    }

    private static func document(_ method: MethodDescription) -> JSONObject {
        let errors = (method.errors + MethodDescription.commonErrors).sorted { $0.code > $1.code }
        var result: JSONObject = [
            "name": .string(method.name),
            "summary": .string(method.summary),
            "paramStructure": "by-name",
            "params": .array(method.parameters.map { .object(descriptor($0)) }),
            "result": ["name": .string(method.resultName), "schema": .object(method.result.document())],
            // The message is the kind; `x-errors` describes it.
            "errors": .array(errors.map { ["code": .integer(Int64($0.code)), "message": .string($0.rawValue)] }),
            "x-kind": .string(method.kind.rawValue),
        ]
        if method.takesUnknownParameters { result["x-takesUnknownParams"] = true }
        result["x-params"] = ParamsDocument.groups(of: method).map { .object($0) }
        return result
    }

    /// An error with advice for the client. Described here once, because each method would be too long with it.
    private static func document(_ kind: RPCErrorKind) -> JSONObject {
        [
            "code": .integer(Int64(kind.code)),
            "kind": .string(kind.rawValue),
            "retryable": .bool(kind.isRetryable),
            "meaning": .string(kind.meaning),
            "advice": .string(kind.advice),
        ]
    }

    private static func document(_ notification: NotificationDescription) -> JSONObject {
        // The members of an event are described in the schema of `x-params`; do not repeat it.
        let toService = notification.direction == .toService
        return [
            "name": .string(notification.name),
            "summary": .string(notification.summary),
            "paramStructure": "by-name",
            "params": .array(notification.parameters.map { .object(descriptor($0, isDescribed: toService)) }),
            "x-direction": .string(notification.direction.rawValue),
            "x-params": reference(ParamsDocument.component(of: notification)),
        ]
    }

    private static func reference(_ component: Component) -> JSONValue {
        .object(Schema.component(component).document())
    }

    /// A parameter: its description is next to its schema.
    private static func descriptor(_ member: Member, isDescribed: Bool = true) -> JSONObject {
        var schema = member.schema.document()
        if let value = member.defaultValue {
            if schema["$ref"] != nil { schema = ["allOf": [.object(schema)]] }
            schema["default"] = value
        }
        // A larger number is refused.
        if schema["type"] == "integer", schema["maximum"] == nil {
            schema["maximum"] = .integer(Schema.maxExactInteger)
        }
        if let value = member.initialValue { schema["x-initial"] = value }
        var result: JSONObject = ["name": .string(member.name)]
        if isDescribed { result["description"] = .string(member.description) }
        if member.isRequired { result["required"] = true }
        result["schema"] = .object(schema)
        return result
    }
}
