internal import JSON

/// What a value on the wire may be: checked on the way in, published by `rpc.discover`.
indirect enum Schema: Sendable {
    /// Text within limits.
    case string(TextRule)
    /// One of these texts.
    case choice([String])
    case integer(ClosedRange<Int64>)
    case number
    case boolean
    /// Named members; a closed one takes no others.
    case object([Member], isClosed: Bool)
    /// Any names, all values alike.
    case map(values: Schema, maxCount: Int)
    /// Any JSON object, kept as it is; its text has at most that many bytes.
    case anyObject(maxByteCount: Int)
    case array(of: Schema, counts: ClosedRange<Int>)
    /// One whose greatest count of entries `info` lists by this name.
    case limited(String, Schema)
    case anyOf([Schema])
    /// For the document alone: exactly one fits.
    case oneOf([Schema])
    case constant(JSONValue)
    /// In answers and events: one of the words of a component, or another that a later version knows.
    case open(Component)
    /// A schema that has a name of its own in the document.
    case component(Component)
    case nullable(Schema)
    case null
    case anything

    /// Any text, for results.
    static let text = Schema.string(TextRule())
    /// A count that every JSON reader holds exactly.
    static let count = Schema.integer(0...maxExactInteger)
    /// A time: RFC 3339, UTC, milliseconds.
    static let time = Schema.string(TextRule(pattern: #"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$"#))
    /// Beyond it a double cannot tell neighbours apart: 2^53 − 1.
    static let maxExactInteger: Int64 = 9_007_199_254_740_991

    static func choice<Choice: RawRepresentable<String> & CaseIterable>(_ type: Choice.Type) -> Schema {
        .choice(type.allCases.map(\.rawValue))
    }
}

/// Limits of one text.
struct TextRule: Sendable {
    /// In bytes of UTF-8.
    var counts: ClosedRange<Int>
    /// What `info` calls the upper limit; nil where it is not listed, as no sensible value comes near it.
    var limitName: String?
    /// For the document: a regular expression of ECMA 262.
    var pattern: String?
    /// Says what was expected when the text does not fit; nil when it does.
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
    /// What holds when it is left out; for the document.
    var defaultValue: JSONValue?
    /// What is in force when the process begins, until `configure` says otherwise; for the document.
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

    /// A member of a result: always there.
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
