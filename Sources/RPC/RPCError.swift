package import JSON

/// An answer's `error`: a code for programs, a sentence for people, data with the stable kind.
package struct RPCError: Error, Equatable, Sendable {
    /// The wire's `code`.
    package let code: Int
    /// One sentence; holds no header, userinfo or query value.
    package let message: String
    /// `kind`, `retryable`, and what the kind adds.
    package let data: JSONObject

    /// An error of a kind, with a sentence that says what was wrong this time.
    ///
    /// - Parameters:
    ///   - code: for the few cases where the kind's own code is not it.
    ///   - extra: members of `data` besides `kind` and `retryable`.
    package init(_ kind: RPCErrorKind, _ message: String, code: Int? = nil, extra: JSONObject = [:]) {
        var data: JSONObject = ["kind": .string(kind.rawValue), "retryable": .bool(kind.isRetryable)]
        for member in extra.members { data[member.key] = member.value }
        self.code = code ?? kind.code
        self.message = message
        self.data = data
    }

    /// The stable key, as clients see it.
    package var kind: RPCErrorKind? { data["kind"]?.string.flatMap(RPCErrorKind.init) }

    /// The `error` member of an answer.
    package var json: JSONObject {
        ["code": .integer(Int64(code)), "message": .string(message), "data": .object(data)]
    }
}

// Constructors for what the grammar itself can find wrong, and for what every method needs.
extension RPCError {
    /// −32700
    package static func parseError(_ message: String, extra: JSONObject = [:]) -> RPCError {
        RPCError(.parseError, message, extra: extra)
    }

    /// −32600
    package static func invalidRequest(_ message: String, extra: JSONObject = [:]) -> RPCError {
        RPCError(.invalidRequest, message, extra: extra)
    }

    /// −32601; the name is cut if it is long.
    package static func methodNotFound(_ method: String) -> RPCError {
        RPCError(.methodNotFound, "There is no method \(quoted(method)).")
    }

    /// −32602
    package static func invalidParams(_ message: String, extra: JSONObject = [:]) -> RPCError {
        RPCError(.invalidParams, message, extra: extra)
    }

    /// −32603
    package static func internalError(_ message: String) -> RPCError {
        RPCError(.internalError, message)
    }

    /// −32800, the answer to a request that `$/cancelRequest` has cancelled.
    package static var requestCancelled: RPCError {
        RPCError(.requestCancelled, "The request was cancelled.")
    }

    /// −32600, for a message over `FrameLimits.messageByteCount`; its id is unknown.
    package static var messageTooLarge: RPCError {
        RPCError(
            .messageTooLarge,
            "The message is longer than \(FrameLimits.messageByteCount) bytes and was skipped.",
            extra: limit("messageBytes", FrameLimits.messageByteCount)
        )
    }

    /// −32600: the message itself breaks a limit, so that it is no request to which 1006 could be the answer.
    static func messageLimitExceeded(_ message: String, name: String, maximum: Int) -> RPCError {
        RPCError(
            .limitExceeded, message, code: RPCErrorKind.invalidRequest.code, extra: limit(name, maximum)
        )
    }

    /// 1006, naming what is too long or too many, as its parameter or limit is called, and the limit.
    package static func limitExceeded(_ message: String, name: String, maximum: Int) -> RPCError {
        RPCError(.limitExceeded, message, extra: limit(name, maximum))
    }

    private static func limit(_ name: String, _ maximum: Int) -> JSONObject {
        ["limit": .string(name), "maximum": .integer(Int64(maximum))]
    }

    /// What a parser says, as an answer.
    init(_ error: JSONParseError) {
        switch error.kind {
        case .tooDeep:
            self = .messageLimitExceeded(error.message, name: "nesting", maximum: JSONLimits.depth)
        case .tooManyElements:
            self = .messageLimitExceeded(error.message, name: "elements", maximum: JSONLimits.elementCount)
        case .syntax, .truncated, .duplicateKey, .numberOutOfRange, .invalidUTF8, .containsNUL, .outOfMemory:
            self = .parseError(error.message, extra: ["byteOffset": .integer(Int64(error.byteOffset))])
        }
    }
}

/// A name that a peer chose, for an error's message: in quotes, and cut if it is long.
package func quoted(_ name: String) -> String {
    let limit = 64
    // A character may be of any length; a scalar may not.
    let start = String(name.unicodeScalars.prefix(limit))
    return start.utf8.count < name.utf8.count ? "\"\(start)…\"" : "\"\(name)\""
}
