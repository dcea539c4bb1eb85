internal import Core
internal import JSON
internal import RPC

/// How much room a request takes from the moment it is read until it is answered: what it may be answered with, and what
/// it takes itself while it is worked on.
///
/// So what waits for a host that does not read is bounded before it exists, not once it does.
enum RequestRoom {
    /// A byte of text becomes so many of the values that it tells, at worst.
    private static let expansion = 8
    /// The least that an answer takes, and what an error does.
    private static let smallAnswerByteCount = 2_048

    static func byteCount(of incoming: Incoming, textByteCount: Int) -> Int {
        let answers =
            switch incoming {
            case .single(let message): answerByteCount(of: message)
            case .batch(let messages): messages.reduce(0) { $0 + answerByteCount(of: $1) }
            }
        return answers + textByteCount * expansion
    }

    private static func answerByteCount(of message: Message) -> Int {
        guard case .request(_, let name, let params) = message, let method = MethodTable.method(name) else {
            return smallAnswerByteCount
        }
        guard case .named(let members) = params, let ids = members["ids"]?.array else {
            return method.isAnswerSmall ? smallAnswerByteCount : Limits.messageByteCount
        }
        // Each may have to be looked up.
        return Limits.messageByteCount + min(ids.count, Parameter.maxIDCount) * smallAnswerByteCount
    }
}
