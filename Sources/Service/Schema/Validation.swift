internal import JSON

/// A parameter that does not fit its schema, and why. Contains no value that could be a secret.
struct ParameterError: Error, Equatable, Sendable {
    /// The path from `params` on, such as `params.retry.maxAttempts` or `params.ids[3]`.
    var path: String
    /// What was expected and what was received.
    var problem: String
    /// The limit that was exceeded, if any.
    var limit: NamedLimit?

    init(path: String, problem: String, limit: NamedLimit? = nil) {
        self.path = path
        self.problem = problem
        self.limit = limit
    }

    var message: String { "\(path): \(problem)" }
}

/// A limit with its name in `info`.
struct NamedLimit: Equatable, Sendable {
    var name: String
    var maximum: Int64
}

extension Schema {
    /// Checks a value and removes members without meaning: optional ones that are null, and those named `_…`.
    func checked(_ value: JSONValue, at path: String) throws(ParameterError) -> JSONValue {
        switch self {
        case .string(let rule): try rule.check(value, at: path)
        case .choice(let choices):
            guard let text = value.string, choices.contains(text) else {
                throw mismatch(value, at: path, hint: value.string.flatMap { Spelling.nearest(to: $0, in: choices) })
            }
        case .integer(let range):
            guard let number = value.integer, range.contains(number) else { throw mismatch(value, at: path) }
            return .integer(number)
        case .number:
            guard value.integer != nil || value.isReal else { throw mismatch(value, at: path) }
        case .boolean:
            guard value.bool != nil else { throw mismatch(value, at: path) }
        case .object(let members, let isClosed):
            guard let object = value.emptyAsObject else { throw mismatch(value, at: path) }
            return .object(try Self.checked(object, members: members, isClosed: isClosed, at: path))
        case .map(let schema, let maxCount):
            guard let object = value.emptyAsObject, object.count <= maxCount else { throw mismatch(value, at: path) }
            for (key, value) in object.members { _ = try schema.checked(value, at: Self.path(path, key)) }
            return .object(object)
        case .anyObject(let maxByteCount):
            guard let object = value.emptyAsObject else { throw mismatch(value, at: path) }
            try Self.checkText(object, maxByteCount: maxByteCount, at: path)
            return .object(object)
        case .array(let schema, let counts):
            return .array(try Self.checkedElements(of: value, schema, counts, mismatch: self, at: path))
        case .limited(let name, let schema):
            try schema.checkCount(value, limit: name, at: path)
            return try schema.checked(value, at: path)
        case .anyOf(let schemas), .oneOf(let schemas): return try checkedAny(value, schemas, at: path)
        case .constant(let constant):
            guard value == constant else { throw mismatch(value, at: path) }
        case .open: try TextRule().check(value, at: path)
        case .component(let component): return try component.schema.checked(value, at: path)
        case .nullable(let schema): return value.isNull ? value : try schema.checked(value, at: path)
        case .null:
            guard value.isNull else { throw mismatch(value, at: path) }
        case .anything: break
        }
        return value
    }

    /// Checks the members of an object, like `checked(_:at:)`.
    static func checked(
        _ object: JSONObject,
        members: [Member],
        isClosed: Bool,
        at path: String
    ) throws(ParameterError) -> JSONObject {
        var result = JSONObject()
        for (key, value) in object.members {
            if let member = members.first(where: { $0.name == key }) {
                if value.isNull && !member.isRequired && !member.schema.takesNull { continue }
                result[key] = try member.schema.checked(value, at: Self.path(path, key))
            } else if isClosed && !key.hasPrefix("_") {
                throw unknown(key, members, at: path)
            } else if !isClosed {
                result[key] = value
            }
        }
        for member in members where member.isRequired && result[member.name] == nil {
            throw ParameterError(
                path: Self.path(path, member.name), problem: "missing, expected \(member.schema.phrase)")
        }
        return result
    }

    private static func unknown(_ key: String, _ members: [Member], at path: String) -> ParameterError {
        var problem = "unknown member"
        if let nearest = Spelling.nearest(to: key, in: members.map(\.name)) {
            problem += ", did you mean '\(nearest)'?"
        }
        return ParameterError(path: Self.path(path, key), problem: problem)
    }

    private static func checkedElements(
        of value: JSONValue,
        _ schema: Schema,
        _ counts: ClosedRange<Int>,
        mismatch whole: Schema,
        at path: String
    ) throws(ParameterError) -> [JSONValue] {
        guard let elements = value.emptyAsArray, counts.contains(elements.count) else {
            throw whole.mismatch(value, at: path)
        }
        var result: [JSONValue] = []
        for (index, element) in elements.enumerated() {
            result.append(try schema.checked(element, at: "\(path)[\(index)]"))
        }
        return result
    }

    private static func checkText(_ object: JSONObject, maxByteCount: Int, at path: String) throws(ParameterError) {
        let count = JSONValue.object(object).serialized().count
        if count > maxByteCount {
            throw ParameterError(
                path: path,
                problem: "expected at most \(maxByteCount) bytes of JSON, got \(count)",
                limit: NamedLimit(name: "metadataBytes", maximum: Int64(maxByteCount))
            )
        }
    }

    /// As `mismatch`, with the name of the limit if there are too many entries.
    private func checkCount(_ value: JSONValue, limit name: String, at path: String) throws(ParameterError) {
        let maximum: Int
        switch self {
        case .array(_, let counts): maximum = counts.upperBound
        case .map(_, let maxCount): maximum = maxCount
        default: return
        }
        guard value.array?.count ?? value.object?.count ?? 0 > maximum else { return }
        var error = mismatch(value, at: path)
        error.limit = NamedLimit(name: name, maximum: Int64(maximum))
        throw error
    }

    private func checkedAny(
        _ value: JSONValue,
        _ schemas: [Schema],
        at path: String
    ) throws(ParameterError) -> JSONValue {
        for schema in schemas {
            do throws(ParameterError) {
                return try schema.checked(value, at: path)
            } catch {
                if error.limit != nil { throw error }
            }
        }
        throw mismatch(value, at: path)
    }

    private var takesNull: Bool {
        switch self {
        case .nullable, .null, .anything: true
        default: false
        }
    }

    private func mismatch(_ value: JSONValue, at path: String, hint: String? = nil) -> ParameterError {
        let suffix = hint.map { ", did you mean '\($0)'?" } ?? ""
        return ParameterError(path: path, problem: "expected \(phrase), got \(got(value))\(suffix)")
    }

    /// Describes the received value. A text is shown only where one of a few words was expected; otherwise only its
    /// length.
    private func got(_ value: JSONValue) -> String {
        switch value {
        case .null: return "null"
        case .bool(let value): return value ? "true" : "false"
        case .integer(let value): return String(value)
        case .real(let real): return real.text.utf8.count <= 32 ? real.text : "a number"
        case .string(let text):
            if case .choice = self, text.utf8.count <= 32 { return "'\(text)'" }
            return "a string of \(text.utf8.count) bytes"
        case .array(let elements): return "an array of \(elements.count)"
        case .object(let object): return "an object with \(object.count) members"
        }
    }

    /// The path of a member; a long name is cut, because it can be anything.
    static func path(_ path: String, _ key: String) -> String {
        key.utf8.count <= 64 ? "\(path).\(key)" : "\(path).\(String(key.prefix(32)))…"
    }

    /// Describes the values that fit.
    var phrase: String {
        switch self {
        case .string(let rule): rule.phrase
        case .choice(let choices): "one of \(choices.joined(separator: ", "))"
        case .integer(let range): "integer \(range.lowerBound)…\(range.upperBound)"
        case .number: "a number"
        case .boolean: "true or false"
        case .object, .anyObject: "an object"
        case .map(_, let maxCount): "an object with at most \(maxCount) members"
        case .array(_, let counts): "an array of \(counts.lowerBound)…\(counts.upperBound)"
        case .anyOf(let schemas), .oneOf(let schemas): schemas.map(\.phrase).joined(separator: " or ")
        case .constant(let value): String(decoding: value.serialized(), as: UTF8.self)
        case .open(let component): component.schema.phrase
        case .component(let component): component.schema.phrase
        case .limited(_, let schema): schema.phrase
        case .nullable(let schema): "\(schema.phrase) or null"
        case .null: "null"
        case .anything: "anything"
        }
    }
}

extension TextRule {
    fileprivate var phrase: String {
        counts.lowerBound <= 1
            ? "a string of at most \(counts.upperBound) bytes"
            : "a string of \(counts.lowerBound)…\(counts.upperBound) bytes"
    }

    fileprivate func check(_ value: JSONValue, at path: String) throws(ParameterError) {
        guard let text = value.string else {
            throw ParameterError(path: path, problem: "expected a string, got \(value.typePhrase)")
        }
        let count = text.utf8.count
        if count < counts.lowerBound {
            throw ParameterError(path: path, problem: count == 0 ? "must not be empty" : "too short: \(count) bytes")
        }
        if count > counts.upperBound {
            throw ParameterError(
                path: path,
                problem: "expected at most \(counts.upperBound) bytes, got \(count)",
                limit: limitName.map { NamedLimit(name: $0, maximum: Int64(counts.upperBound)) }
            )
        }
        if let problem = check?(text) { throw ParameterError(path: path, problem: problem) }
    }
}

extension JSONValue {
    /// An object; also an empty array, because some encoders (Lua, PHP) write an empty object as one.
    fileprivate var emptyAsObject: JSONObject? { array?.isEmpty == true ? [:] : object }

    /// An array; also an empty object, because some encoders write an empty array as one.
    fileprivate var emptyAsArray: [JSONValue]? { object?.count == 0 ? [] : array }

    fileprivate var isReal: Bool {
        if case .real = self { true } else { false }
    }

    fileprivate var typePhrase: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .integer, .real: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}
