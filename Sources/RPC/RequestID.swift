package import JSON

/// A request's id, echoed in its answer as it was sent. A request without any is a notification and has none of these.
package enum RequestID: Sendable {
    /// Allowed, though JSON-RPC advises against it; also the id of answers to what has none that can be read.
    case null
    /// Within ±2^53.
    case integer(Int64)
    /// A number with a fraction or exponent; its text is what is echoed.
    case real(JSONReal)
    /// At most `maximumByteCount` bytes; compared byte by byte.
    case string(String)

    /// Bytes that a string id may have.
    package static let maximumByteCount = 500
    /// Above this, JSON readers that know only doubles cannot tell two ids apart: 2^53.
    package static let maximumNumber: Int64 = 1 << 53

    /// Checks an envelope's `id`.
    ///
    /// - Throws: invalidRequest for what cannot be an id, which is then answered with the id null.
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

    /// The id as it goes into the answer.
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
    /// Equal as they are echoed: 1 is not 1.0.
    package static func == (left: RequestID, right: RequestID) -> Bool { left.json == right.json }

    /// See Hashable.
    package func hash(into hasher: inout Hasher) {
        switch self {
        case .null: break
        case .integer(let number): hasher.combine(number)
        case .real(let real): hasher.combine(real)
        // Equivalent spellings share a hash, though they are not equal here.
        case .string(let text): hasher.combine(text)
        }
    }
}
