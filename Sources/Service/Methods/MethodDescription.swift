internal import Engine
internal import JSON
internal import RPC

/// One method: what it takes, what it answers, what it does.
struct MethodDescription: Sendable {
    /// How a method stands to the order of answers.
    enum Kind: String, Sendable {
        /// Changes nothing; may overtake.
        case read
        /// Answered in the order of the requests.
        case change
        /// Answered when something has happened.
        case wait
        /// Part of the session's own life.
        case lifecycle
    }

    /// - Throws: what is wrong with the request; nothing has changed then.
    typealias Handler = @Sendable (Session, JSONObject, Call, isolated DownloadEngine) throws(RPCError) -> Void

    var name: String
    var summary: String
    var kind: Kind
    var parameters: [Member] = []
    /// At least one of these must be given; empty: no such rule.
    var requiredOneOf: [String] = []
    /// Exactly one of these must be given; empty: no such rule.
    var exactlyOneOf: [String] = []
    /// Only `initialize` takes members that it does not know.
    var takesUnknownParameters = false
    /// Its answers never hold a download, or other text of any length.
    var isAnswerSmall = false
    var resultName: String
    var result: Schema
    /// Besides those that every method can answer with.
    var errors: [RPCErrorKind] = []
    var handle: Handler

    /// What any request can be answered with.
    static let commonErrors: [RPCErrorKind] = [.invalidRequest, .invalidParams, .internalError, .shuttingDown]
}

/// A notification: what the other side sends without waiting for an answer.
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
    /// Nil for those that only we send.
    var handle: Handler?

    typealias Handler = @Sendable (Session, JSONObject, isolated DownloadEngine) -> Void
}
