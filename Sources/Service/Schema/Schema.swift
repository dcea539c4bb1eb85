internal import JSON

/// The type of a value on the wire: input is checked against it, and `rpc.discover` publishes it.
indirect enum Schema: Sendable {
    /// Text within limits.
    case string(TextRule)
    /// One of these texts.
    case choice([String])
    case integer(ClosedRange<Int64>)
    case number
    case boolean
    /// Named members; a closed object allows no others.
    case object([Member], isClosed: Bool)
    /// Any names; all values have the same schema.
    case map(values: Schema, maxCount: Int)
    /// Any JSON object, stored unchanged; its text has at most that many bytes.
    case anyObject(maxByteCount: Int)
    case array(of: Schema, counts: ClosedRange<Int>)
    /// A schema whose maximum number of entries has this name in `info`.
    case limited(String, Schema)
    case anyOf([Schema])
    /// Only for the document: exactly one matches.
    case oneOf([Schema])
    case constant(JSONValue)
    /// In answers and events: one of the words of the component, or a word of a later version.
    case open(Component)
    /// A schema with its own name in the document.
    case component(Component)
    case nullable(Schema)
    case null
    case anything

    /// Any text, for results.
    static let text = Schema.string(TextRule())
    /// A count that every JSON parser represents exactly.
    static let count = Schema.integer(0...maxExactInteger)
    /// A time: RFC 3339, UTC, milliseconds.
    static let time = Schema.string(TextRule(pattern: #"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$"#))
    /// The largest integer that a double represents exactly, with all smaller ones: 2^53 − 1.
    static let maxExactInteger: Int64 = 9_007_199_254_740_991

    static func choice<Choice: RawRepresentable<String> & CaseIterable>(_ type: Choice.Type) -> Schema {
        .choice(type.allCases.map(\.rawValue))
    }
}

/// Limits of one text.
struct TextRule: Sendable {
    /// In bytes of UTF-8.
    var counts: ClosedRange<Int>
    /// The name of the upper limit in `info`; nil if it is not listed, because no sensible value is near it.
    var limitName: String?
    /// For the document: a regular expression of ECMA 262.
    var pattern: String?
    /// Returns what was expected if the text does not fit, else nil.
    var check: (@Sendable (String) -> String?)?

    init(
        _ counts: ClosedRange<Int> = 0...1_048_576,
        limit limitName: String? = nil,
        pattern: String? = nil,
        check: (@Sendable (String) -> String?)? = nil
    ) {
        self.counts = counts
        self.limitName = limitName
        self.pattern = pattern
        self.check = check
    }
}

/// One member of an object, or one parameter of a method.
struct Member: Sendable {
    var name: String
    var schema: Schema
    var isRequired: Bool
    var description: String
    /// The value if it is left out; for the document.
    var defaultValue: JSONValue?
    /// The default until `configure` changes it; for the document.
    var initialValue: JSONValue?

    init(
        _ name: String,
        _ schema: Schema,
        _ description: String,
        isRequired: Bool = false,
        defaultValue: JSONValue? = nil,
        initialValue: JSONValue? = nil
    ) {
        self.name = name
        self.schema = schema
        self.isRequired = isRequired
        self.description = description
        self.defaultValue = defaultValue
        self.initialValue = initialValue
    }

    /// A member of a result that is always present.
    static func always(_ name: String, _ schema: Schema, _ description: String) -> Member {
        Member(name, schema, description, isRequired: true)
    }
}

/// A schema with a name.
struct Component: Sendable {
    var name: String
    var description: String
    var schema: Schema

    init(_ name: String, _ description: String, _ schema: Schema) {
        self.name = name
        self.description = description
        self.schema = schema
    }
}
