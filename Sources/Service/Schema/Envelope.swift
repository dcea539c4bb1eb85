internal import JSON
internal import RPC

/// The messages themselves, for code generators; input is not checked against these.
enum Envelope {
    static let requestID = Component(
        "RequestId",
        "Returned as it was sent.",
        .anyOf([.string(TextRule(0...RequestID.maximumByteCount)), .integer(idRange), .number, .null])
    )

    static let errorData = Component(
        "ErrorData",
        "Details of an error; more members depend on kind.",
        .object(
            [
                .always("kind", .open(Words.errorKind), "The stable key."),
                .always("retryable", .boolean, "True if the same request may succeed later."),
            ],
            isClosed: false
        )
    )

    static let error = Component(
        "RpcError",
        "Why a request failed.",
        .object(
            [
                .always("code", .integer(-40_000...40_000), "Later versions may add more."),
                .always("message", .text, "One sentence for people."),
                .always("data", .component(errorData), "kind, retryable and details."),
            ],
            isClosed: false
        )
    )

    static let request = Component(
        "Request",
        "What a client sends; without id it gets no answer.",
        .object(
            [
                version, Member("id", .component(requestID), "Absent in notifications."),
                .always("method", .text, "Name of the method."),
                Member("params", .object([], isClosed: false), "By name; see x-params of each method."),
            ],
            isClosed: false
        )
    )

    static let success = Component(
        "SuccessResponse",
        "The answer to a request that succeeded.",
        .object(
            [
                version, .always("id", .component(requestID), "Id of the request."),
                .always("result", .anything, "By method; see result of each."),
            ],
            isClosed: true
        )
    )

    static let failure = Component(
        "ErrorResponse",
        "The answer to a request that failed.",
        .object(
            [
                version, .always("id", .component(requestID), "Id of the request; null if it could not be read."),
                .always("error", .component(error), "The error."),
            ],
            isClosed: true
        )
    )

    static let response = Component(
        "Response", "An answer: either result or error.", .oneOf([.component(success), .component(failure)]))

    static let notification = Component(
        "Notification",
        "An event of the service.",
        .object(
            [
                version, .always("method", .text, "Name of the event; ignore unknown ones."),
                .always("params", .object([], isClosed: false), "By name; see x-params of each of x-notifications."),
            ],
            isClosed: true
        )
    )

    private static let version = Member.always("jsonrpc", .constant("2.0"), "The version of JSON-RPC.")
    private static let idRange = -RequestID.maximumNumber...RequestID.maximumNumber
}
