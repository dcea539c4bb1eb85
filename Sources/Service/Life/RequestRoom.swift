internal import Core
internal import JSON
internal import RPC

/// The bytes that a request reserves until it is answered: for its largest possible answer, and for itself.
///
/// So the memory for a host that does not read its answers is limited in advance.
enum RequestRoom {
    /// One byte of text needs at most this many bytes as a parsed value.
    private static let expansion = 8
    /// Reserved for any answer; enough for an error.
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
        // Each id may need a read.
        return Limits.messageByteCount + min(ids.count, Parameter.maxIDCount) * smallAnswerByteCount
    }
}
