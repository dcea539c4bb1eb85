internal import JSON

extension Schema {
    /// The schema in the common subset of JSON Schema draft-07 and 2020-12.
    func document() -> JSONObject {
        switch self {
        case .string(let rule): return Self.document(rule)
        case .choice(let choices): return ["type": "string", "enum": .array(choices.map { .string($0) })]
        case .integer(let range):
            var result: JSONObject = ["type": "integer", "minimum": .integer(range.lowerBound)]
            // The page states the general maximum once, because the document must fit into an answer.
            if range.upperBound < Schema.maxExactInteger { result["maximum"] = .integer(range.upperBound) }
            return result
        case .number: return ["type": "number"]
        case .boolean: return ["type": "boolean"]
        case .null: return ["type": "null"]
        case .anything: return [:]
        case .object(let members, let isClosed): return Self.document(members, isClosed: isClosed)
        case .map(let values, let maxCount):
            return [
                "type": "object", "additionalProperties": .object(values.document()),
                "maxProperties": .integer(Int64(maxCount)),
            ]
        case .anyObject(let maxByteCount):
            return ["type": "object", "description": "At most \(maxByteCount) bytes of JSON text."]
        case .array(let schema, let counts):
            var result: JSONObject = ["type": "array", "items": .object(schema.document())]
            if counts.lowerBound > 0 { result["minItems"] = .integer(Int64(counts.lowerBound)) }
            result["maxItems"] = .integer(Int64(counts.upperBound))
            return result
        case .limited(_, let schema): return schema.document()
        case .anyOf(let schemas): return ["anyOf": .array(schemas.map { .object($0.document()) })]
        case .oneOf(let schemas): return ["oneOf": .array(schemas.map { .object($0.document()) })]
        case .constant(let value): return ["const": value]
        case .open(let component):
            return ["anyOf": [.object(Schema.component(component).document()), ["type": "string"]]]
        case .component(let component): return ["$ref": .string("#/components/schemas/\(component.name)")]
        case .nullable(let schema):
            let document = schema.document()
            // Avoids nested alternatives.
            let alternatives =
                document.count == 1 ? document["anyOf"]?.array ?? [.object(document)] : [.object(document)]
            return ["anyOf": .array(alternatives + [["type": "null"]])]
        }
    }

    private static func document(_ rule: TextRule) -> JSONObject {
        var result: JSONObject = ["type": "string"]
        if rule.counts.lowerBound > 0 { result["minLength"] = 1 }
        if rule.counts.upperBound < TextRule().counts.upperBound {
            // Limits count bytes; a text never has more characters than bytes.
            result["maxLength"] = .integer(Int64(rule.counts.upperBound))
        }
        if let pattern = rule.pattern { result["pattern"] = .string(pattern) }
        return result
    }

    private static func document(_ members: [Member], isClosed: Bool) -> JSONObject {
        var properties = JSONObject()
        for member in members { properties[member.name] = .object(member.document()) }
        var result: JSONObject = ["type": "object", "properties": .object(properties)]
        let required = members.filter(\.isRequired).map { JSONValue.string($0.name) }
        if !required.isEmpty { result["required"] = .array(required) }
        if isClosed { result["additionalProperties"] = false }
        return result
    }

    /// The components that the schema references, including nested ones.
    func collectComponents(into components: inout [String: Component]) {
        switch self {
        case .string, .choice, .integer, .number, .boolean, .anyObject, .null, .anything, .constant: break
        case .object(let members, _):
            for member in members { member.schema.collectComponents(into: &components) }
        case .map(let schema, _), .array(let schema, _), .nullable(let schema),
            .limited(_, let schema):
            schema.collectComponents(into: &components)
        case .open(let component): components[component.name] = component
        case .anyOf(let schemas), .oneOf(let schemas):
            for schema in schemas { schema.collectComponents(into: &components) }
        case .component(let component):
            if components.updateValue(component, forKey: component.name) == nil {
                component.schema.collectComponents(into: &components)
            }
        }
    }
}

extension Member {
    /// The member's schema with its description and default.
    func document() -> JSONObject {
        var result = schema.document()
        // Draft-07 ignores members next to a $ref.
        if result["$ref"] != nil { result = ["allOf": [.object(result)]] }
        if let text = result["description"]?.string {
            result["description"] = .string("\(description) \(text)")
        } else if !description.isEmpty {
            result["description"] = .string(description)
        }
        if let defaultValue { result["default"] = defaultValue }
        if let initialValue { result["x-initial"] = initialValue }
        return result
    }
}

extension Component {
    func document() -> JSONObject {
        var result = schema.document()
        result["description"] = .string(description)
        return result
    }
}
