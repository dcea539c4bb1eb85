/// Any JSON value.
///
/// Strings compare byte by byte, not by Unicode equivalence as Swift's strings do: two spellings of one letter can name
/// two files.
package enum JSONValue: Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    case real(JSONReal)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)
}

extension JSONValue: Equatable {
    /// Equal values of one type: 1 is not 1.0, and 1.0 is not 1.00.
    package static func == (left: JSONValue, right: JSONValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.integer(let left), .integer(let right)): left == right
        case (.real(let left), .real(let right)): left == right
        case (.string(let left), .string(let right)): areSameBytes(left, right)
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)): left == right
        case (.null, _), (.bool, _), (.integer, _), (.real, _), (.string, _), (.array, _), (.object, _): false
        }
    }
}

/// True if two strings are the same bytes.
func areSameBytes(_ left: String, _ right: String) -> Bool {
    // Swift's comparison is fast, and strings that it calls different never have the same bytes.
    left == right && left.utf8.elementsEqual(right.utf8)
}

// Typed reading: nil when the value is of another type.
extension JSONValue {
    /// True for null.
    package var isNull: Bool {
        if case .null = self { true } else { false }
    }

    /// A boolean.
    package var bool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// A whole number; also one written as 1.0 or 1e3, as some encoders write all numbers, within ±(2^53 − 1).
    package var integer: Int64? {
        switch self {
        case .integer(let value): value
        case .real(let real) where real.value.magnitude < 9_007_199_254_740_992:
            // Int64(exactly:) would need libm.
            Double(Int64(real.value)) == real.value ? Int64(real.value) : nil
        case .null, .bool, .real, .string, .array, .object: nil
        }
    }

    /// A string; it may contain U+0000.
    package var string: String? {
        if case .string(let value) = self { value } else { nil }
    }

    /// An array's elements.
    package var array: [JSONValue]? {
        if case .array(let value) = self { value } else { nil }
    }

    /// An object.
    package var object: JSONObject? {
        if case .object(let value) = self { value } else { nil }
    }

    /// The member of an object; nil when there is none, or when this is no object.
    package subscript(key: String) -> JSONValue? { object?[key] }
}

// Building from optional values: nil becomes null.
extension JSONValue {
    /// A boolean, or null.
    package static func optional(_ value: Bool?) -> JSONValue { value.map { .bool($0) } ?? .null }

    /// An integer, or null.
    package static func optional(_ value: Int64?) -> JSONValue { value.map { .integer($0) } ?? .null }

    /// An integer, or null.
    package static func optional(_ value: Int?) -> JSONValue { value.map { .integer(Int64($0)) } ?? .null }

    /// A string, or null.
    package static func optional(_ value: String?) -> JSONValue { value.map { .string($0) } ?? .null }

    /// An array, or null.
    package static func optional(_ value: [JSONValue]?) -> JSONValue { value.map { .array($0) } ?? .null }

    /// An object, or null.
    package static func optional(_ value: JSONObject?) -> JSONValue { value.map { .object($0) } ?? .null }

    /// The value, or null.
    package static func optional(_ value: JSONValue?) -> JSONValue { value ?? .null }
}

// No ExpressibleByNilLiteral: `object["key"] == nil` would then compare with null.
extension JSONValue: ExpressibleByBooleanLiteral {
    /// `true` or `false`.
    package init(booleanLiteral value: Bool) { self = .bool(value) }
}

extension JSONValue: ExpressibleByIntegerLiteral {
    /// An integer.
    package init(integerLiteral value: Int64) { self = .integer(value) }
}

extension JSONValue: ExpressibleByFloatLiteral {
    /// A real; the literal must be finite.
    package init(floatLiteral value: Double) { self = .real(JSONReal(value)) }
}

extension JSONValue: ExpressibleByStringLiteral {
    /// A string.
    package init(stringLiteral value: String) { self = .string(value) }
}

extension JSONValue: ExpressibleByStringInterpolation {}

extension JSONValue: ExpressibleByArrayLiteral {
    /// An array.
    package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
}

extension JSONValue: ExpressibleByDictionaryLiteral {
    /// An object; the keys must be distinct.
    package init(dictionaryLiteral members: (String, JSONValue)...) { self = .object(JSONObject(members)) }
}
