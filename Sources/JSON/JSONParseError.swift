/// Why bytes are not an acceptable JSON value.
package struct JSONParseError: Error, Equatable, Sendable {
    /// What is wrong.
    package enum Kind: Equatable, Sendable {
        /// Not JSON.
        case syntax
        /// The text stops before the value is complete.
        case truncated
        /// Arrays and objects are nested deeper than `JSONLimits.depth`.
        case tooDeep
        /// More elements and members than `JSONLimits.elementCount`.
        case tooManyElements
        /// An object has one key twice.
        case duplicateKey
        /// An integer that does not fit into 64 bits, or a real beyond a double.
        case numberOutOfRange
        /// Bytes that are not UTF-8, or half of a surrogate pair.
        case invalidUTF8
        /// An object's key contains U+0000.
        case containsNUL
        /// No memory for the value.
        case outOfMemory
    }

    /// What is wrong.
    package let kind: Kind
    /// How many bytes were read before the error was detected: the error is there or shortly before.
    package let byteOffset: Int

    /// One sentence for people. It quotes nothing of the text, which may contain secrets.
    package var message: String {
        switch kind {
        case .syntax: "Not valid JSON at byte \(byteOffset)."
        case .truncated: "The JSON text ends too early, at byte \(byteOffset)."
        case .tooDeep: "The JSON text is nested deeper than \(JSONLimits.depth) levels."
        case .tooManyElements: "The JSON text has more than \(JSONLimits.elementCount) elements."
        case .duplicateKey: "An object has the same key twice, at byte \(byteOffset)."
        case .numberOutOfRange: "A number is out of range at byte \(byteOffset)."
        case .invalidUTF8: "The JSON text is not valid UTF-8 at byte \(byteOffset)."
        case .containsNUL: "An object's key contains U+0000 at byte \(byteOffset)."
        case .outOfMemory: "There is not enough memory to read the JSON text."
        }
    }
}

/// The limits of a JSON text.
package enum JSONLimits {
    /// Depth of nested arrays and objects.
    package static let depth = 32
    /// Elements of all arrays plus members of all objects. jansson needs up to 60 bytes for each byte of `[{},{},…]`.
    package static let elementCount = 10_000
    /// Levels of a value that we write: what we may have read, inside our own envelopes.
    package static let serializedDepth = 64
}
