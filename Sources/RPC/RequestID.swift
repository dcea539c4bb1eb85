package import JSON

/// A request's id, returned in its answer as it was sent. A message without an id is a notification.
package enum RequestID: Sendable {
    /// Allowed, though JSON-RPC advises against it; also the id in answers to messages whose id cannot be read.
    case null
    /// Within ±2^53.
    case integer(Int64)
    /// A number with a fraction or exponent; its text is returned unchanged.
    case real(JSONReal)
    /// At most `maximumByteCount` bytes; compared byte by byte.
    case string(String)

    /// The most bytes of a string id.
    package static let maximumByteCount = 500
    /// Above 2^53, JSON readers that use only doubles cannot tell two ids apart.
    package static let maximumNumber: Int64 = 1 << 53

    /// Checks the `id` of a message.
    ///
    /// - Throws: invalidRequest for an invalid id; the answer then has the id null.
    package init(_ value: JSONValue) throws(RPCError) {
        switch value {
        case .null: self = .null
        case .integer(let number) where number.magnitude <= RequestID.maximumNumber.magnitude: self = .integer(number)
        case .real(let real)
        where real.value.magnitude <= Double(RequestID.maximumNumber)
            && real.text.utf8.count <= RequestID.maximumByteCount:
            self = .real(real)
        case .string(let text) where text.utf8.count <= RequestID.maximumByteCount: self = .string(text)
        case .string:
            throw .messageLimitExceeded(
                "The id is longer than \(RequestID.maximumByteCount) bytes.",
                name: "requestIdBytes", maximum: RequestID.maximumByteCount
            )
        case .integer, .real:
            throw .invalidRequest("A number as id must be within ±2^53.")
        case .bool, .array, .object:
            throw .invalidRequest("The id must be a string, a number or null.")
        }
    }

    /// The id for the answer.
    package var json: JSONValue {
        switch self {
        case .null: .null
        case .integer(let number): .integer(number)
        case .real(let real): .real(real)
        case .string(let text): .string(text)
        }
    }
}

extension RequestID: Hashable {
    /// Compares ids as they are returned: 1 is not 1.0.
    package static func == (left: RequestID, right: RequestID) -> Bool { left.json == right.json }

    /// See Hashable.
    package func hash(into hasher: inout Hasher) {
        switch self {
        case .null: break
        case .integer(let number): hasher.combine(number)
        case .real(let real): hasher.combine(real)
        // Equivalent spellings have one hash, although they are not equal here.
        case .string(let text): hasher.combine(text)
        }
    }
}
