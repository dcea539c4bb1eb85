/// A number that is not written as an integer, together with its text.
///
/// The text is kept because ids and metadata must be returned as they were sent: `1.50` must not become `1.5`, nor
/// `0.1` become `0.10000000000000001`.
package struct JSONReal: Sendable, Hashable {
    /// The nearest double; finite.
    package let value: Double
    /// The number as JSON, ASCII.
    package let text: String

    /// A number with its shortest text.
    ///
    /// - Precondition: the value is finite; JSON has no other numbers.
    package init(_ value: Double) {
        precondition(value.isFinite, "JSON cannot hold \(value)")
        self.init(value: value, text: value.description)
    }

    /// - Parameter text: the number as written in valid JSON.
    init(value: Double, text: String) {
        self.value = value
        self.text = text
    }
}

extension JSONReal: ExpressibleByFloatLiteral {
    /// The literal, which must be finite.
    package init(floatLiteral value: Double) { self.init(value) }
}
