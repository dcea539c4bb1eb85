internal import Engine
internal import JSON
internal import RPC

/// One method: its parameters, its result, its implementation.
struct MethodDescription: Sendable {
    /// When a method is answered, relative to other requests.
    enum Kind: String, Sendable {
        /// Changes nothing; may be answered before earlier requests.
        case read
        /// Answered in the order of the requests.
        case change
        /// Answered when something happens.
        case wait
        /// Begins or ends the session.
        case lifecycle
    }

    /// - Throws: the error of the request; nothing has changed then.
    typealias Handler = @Sendable (Session, JSONObject, Call, isolated DownloadEngine) throws(RPCError) -> Void

    var name: String
    var summary: String
    var kind: Kind
    var parameters: [Member] = []
    /// At least one of these must be given; empty: not required.
    var requiredOneOf: [String] = []
    /// Exactly one of these must be given; empty: not required.
    var exactlyOneOf: [String] = []
    /// Only `initialize` accepts unknown members.
    var takesUnknownParameters = false
    /// The answer never contains a download or other long text.
    var isAnswerSmall = false
    var resultName: String
    var result: Schema
    /// Errors in addition to `commonErrors`.
    var errors: [RPCErrorKind] = []
    var handle: Handler

    /// Errors that every request can get.
    static let commonErrors: [RPCErrorKind] = [.invalidRequest, .invalidParams, .internalError, .shuttingDown]
}

/// A notification: a message without an answer.
struct NotificationDescription: Sendable {
    enum Direction: String, Sendable {
        case toClient
        case toService
    }
    var name: String
    var summary: String
    var direction: Direction
    var parameters: [Member] = []
    var takesUnknownParameters = false
    /// Nil if only the service sends it.
    var handle: Handler?

    typealias Handler = @Sendable (Session, JSONObject, isolated DownloadEngine) -> Void
}
