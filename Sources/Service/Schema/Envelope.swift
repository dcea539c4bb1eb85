internal import JSON
internal import RPC

/// The messages themselves, for generators: nothing on the way in is checked by these.
enum Envelope {
    static let requestID = Component(
        "RequestId",
        "Comes back as it was sent.",
        .anyOf([.string(TextRule(0...RequestID.maximumByteCount)), .integer(idRange), .number, .null])
    )

    static let errorData = Component(
        "ErrorData",
        "More of an error; members by kind.",
        .object(
            [
                .always("kind", .open(Words.errorKind), "The stable key."),
                .always("retryable", .boolean, "True when the same request may succeed later."),
            ],
            isClosed: false
        )
    )

    static let error = Component(
        "RpcError",
        "Why a request did nothing.",
        .object(
            [
                .always("code", .integer(-40_000...40_000), "More may come."),
                .always("message", .text, "One sentence for people."),
                .always("data", .component(errorData), "kind, retryable and more."),
            ],
            isClosed: false
        )
    )

    static let request = Component(
        "Request",
        "What a client sends; without id it is never answered.",
        .object(
            [
                version, Member("id", .component(requestID), "Absent in notifications."),
                .always("method", .text, "Which method."),
                Member("params", .object([], isClosed: false), "By name; see x-params of each method."),
            ],
            isClosed: false
        )
    )

    static let success = Component(
        "SuccessResponse",
        "The answer to a request that was done.",
        .object(
            [
                version, .always("id", .component(requestID), "The request's."),
                .always("result", .anything, "By method; see result of each."),
            ],
            isClosed: true
        )
    )

    static let failure = Component(
        "ErrorResponse",
        "The answer to a request that did nothing.",
        .object(
            [
                version, .always("id", .component(requestID), "The request's; null where it could not be read."),
                .always("error", .component(error), "Why."),
            ],
            isClosed: true
        )
    )

    static let response = Component(
        "Response", "An answer: one of result and error.", .oneOf([.component(success), .component(failure)]))

    static let notification = Component(
        "Notification",
        "An event; the service sends it unasked.",
        .object(
            [
                version, .always("method", .text, "Which event; ignore those that you do not know."),
                .always("params", .object([], isClosed: false), "By name; see x-params of each of x-notifications."),
            ],
            isClosed: true
        )
    )

    private static let version = Member.always("jsonrpc", .constant("2.0"), "The version of JSON-RPC.")
    private static let idRange = -RequestID.maximumNumber...RequestID.maximumNumber
}
