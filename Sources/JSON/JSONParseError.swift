/// Why bytes are not a JSON value that we take.
package struct JSONParseError: Error, Equatable, Sendable {
    /// What is wrong.
    package enum Kind: Equatable, Sendable {
        /// Not JSON.
        case syntax
        /// The text stops before the value is complete.
        case truncated
        /// More arrays and objects inside each other than `JSONLimits.depth`.
        case tooDeep
        /// More elements and members than `JSONLimits.elementCount`.
        case tooManyElements
        /// An object has one key twice.
        case duplicateKey
        /// An integer that needs more than 64 bits, or a real beyond a double.
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
    /// How many bytes were read before the error was seen; at or shortly behind what is wrong.
    package let byteOffset: Int

    /// One sentence for people. It quotes nothing of the text, which may hold secrets.
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

/// What a JSON text may hold at most.
package enum JSONLimits {
    /// Arrays and objects inside each other.
    package static let depth = 32
    /// Elements of all arrays and members of all objects. jansson needs up to 60 bytes for each byte of `[{},{},…]`.
    package static let elementCount = 10_000
    /// Levels of a value that we write: what we may have read, in envelopes of ours.
    package static let serializedDepth = 64
}
