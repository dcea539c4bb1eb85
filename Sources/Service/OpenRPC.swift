package import JSON
internal import RPC

/// The description of the protocol that the method table yields.
package enum OpenRPC {
    /// The document, by OpenRPC 1.3; the same for the same version, byte for byte.
    package static func document(version: String) -> JSONObject {
        var components: [String: Component] = [:]
        for method in MethodTable.methods {
            method.result.collectComponents(into: &components)
            for parameter in method.parameters { parameter.schema.collectComponents(into: &components) }
        }
        for notification in MethodTable.notifications {
            for parameter in notification.parameters { parameter.schema.collectComponents(into: &components) }
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
            "x-limits": .object(Session.encodedLimits),
            "components": ["schemas": .object(JSONObject(schemas))],
        ]
    }

    /// As `document`, as text with an end of line.
    package static func text(version: String) -> [UInt8] {
        JSONValue.object(document(version: version)).serialized() + [UInt8(ascii: "\n")]
    }

    private static func document(_ method: MethodDescription) -> JSONObject {
        let errors = (method.errors + MethodDescription.commonErrors).sorted { $0.code > $1.code }
        return [
            "name": .string(method.name),
            "summary": .string(method.summary),
            "paramStructure": "by-name",
            "params": .array(method.parameters.map { .object(descriptor($0)) }),
            "result": ["name": .string(method.resultName), "schema": .object(method.result.document())],
            "errors": .array(
                errors.map { kind in
                    [
                        "code": .integer(Int64(kind.code)), "message": .string(kind.meaning),
                        "data": ["kind": .string(kind.rawValue)],
                    ]
                }
            ),
            "x-kind": .string(method.kind.rawValue),
            "x-takesUnknownParams": .bool(method.takesUnknownParameters),
            "x-requiresOneOf": .array(method.requiredOneOf.map { .string($0) }),
        ]
    }

    /// An error with what a client should do; said once here, for it would be too long at every method.
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
        [
            "name": .string(notification.name),
            "summary": .string(notification.summary),
            "paramStructure": "by-name",
            "params": .array(notification.parameters.map { .object(descriptor($0)) }),
            "x-direction": .string(notification.direction.rawValue),
        ]
    }

    /// A parameter: its description stands beside its schema.
    private static func descriptor(_ member: Member) -> JSONObject {
        var schema = member.schema.document()
        if let value = member.defaultValue {
            if schema["$ref"] != nil { schema = ["allOf": [.object(schema)]] }
            schema["default"] = value
        }
        return [
            "name": .string(member.name),
            "description": .string(member.description),
            "required": .bool(member.isRequired),
            "schema": .object(schema),
        ]
    }
}
