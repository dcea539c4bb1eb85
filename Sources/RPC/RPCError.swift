package import JSON

/// The `error` of an answer: a code for programs, a sentence for people, and data with a stable kind.
package struct RPCError: Error, Equatable, Sendable {
    /// The wire's `code`.
    package let code: Int
    /// One sentence; contains no header, userinfo or query value.
    package let message: String
    /// `kind`, `retryable`, and further members for some kinds.
    package let data: JSONObject

    /// An error of a kind, with a sentence about this case.
    ///
    /// - Parameters:
    ///   - code: set in the few cases that do not use the kind's own code.
    ///   - extra: members of `data` besides `kind` and `retryable`.
    package init(_ kind: RPCErrorKind, _ message: String, code: Int? = nil, extra: JSONObject = [:]) {
        var data: JSONObject = ["kind": .string(kind.rawValue), "retryable": .bool(kind.isRetryable)]
        for member in extra.members { data[member.key] = member.value }
        self.code = code ?? kind.code
        self.message = message
        self.data = data
    }

    /// The stable kind, as clients see it.
    package var kind: RPCErrorKind? { data["kind"]?.string.flatMap(RPCErrorKind.init) }

    /// The `error` member of an answer.
    package var json: JSONObject {
        ["code": .integer(Int64(code)), "message": .string(message), "data": .object(data)]
    }
}

// Constructors for errors in the message itself, and for errors of every method.
extension RPCError {
    /// −32700
    package static func parseError(_ message: String, extra: JSONObject = [:]) -> RPCError {
        RPCError(.parseError, message, extra: extra)
    }

    /// −32600
    package static func invalidRequest(_ message: String, extra: JSONObject = [:]) -> RPCError {
        RPCError(.invalidRequest, message, extra: extra)
    }

    /// −32601; a long name is cut.
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

    /// −32800, the answer to a request that was cancelled with `$/cancelRequest`.
    package static var requestCancelled: RPCError {
        RPCError(.requestCancelled, "The request was cancelled.")
    }

    /// −32600, for a message longer than `FrameLimits.messageByteCount`; its id is unknown.
    package static var messageTooLarge: RPCError {
        RPCError(
            .messageTooLarge,
            "The message is longer than \(FrameLimits.messageByteCount) bytes and was skipped.",
            extra: limit("messageBytes", FrameLimits.messageByteCount)
        )
    }

    /// −32600: the message itself exceeds a limit, so it is not a request that 1006 could answer.
    static func messageLimitExceeded(_ message: String, name: String, maximum: Int) -> RPCError {
        RPCError(
            .limitExceeded, message, code: RPCErrorKind.invalidRequest.code, extra: limit(name, maximum)
        )
    }

    /// 1006, with the name of the parameter or limit that is exceeded, and the maximum.
    package static func limitExceeded(_ message: String, name: String, maximum: Int) -> RPCError {
        RPCError(.limitExceeded, message, extra: limit(name, maximum))
    }

    private static func limit(_ name: String, _ maximum: Int) -> JSONObject {
        ["limit": .string(name), "maximum": .integer(Int64(maximum))]
    }

    /// The error for a parse error.
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

/// A name from a peer, for an error message: quoted, and cut if it is long.
package func quoted(_ name: String) -> String {
    let limit = 64
    // A character may have any length; a scalar may not.
    let start = String(name.unicodeScalars.prefix(limit))
    return start.utf8.count < name.utf8.count ? "\"\(start)…\"" : "\"\(name)\""
}
