/// Every kind of error that an answer can carry; the raw value is the wire's stable `data.kind`.
///
/// Closed, so that the published table of errors can be made from it; `meaning` documents each.
package enum RPCErrorKind: String, Sendable, CaseIterable {
    // JSON-RPC's own
    case parseError
    case invalidRequest
    case messageTooLarge
    case methodNotFound
    case invalidParams
    case internalError
    // LSP's
    case requestCancelled
    // Ours
    case downloadNotFound
    case invalidState
    case destinationConflict
    case idConflict
    case unsupportedUrl
    case limitExceeded
    case permissionDenied
    case storageFailure
    case lockedElsewhere
    case cursorExpired
    case shuttingDown
    case resumeDataUnusable

    /// The wire's `code`. Ours are positive: JSON-RPC and LSP keep the negative ones for themselves.
    package var code: Int {
        switch self {
        case .parseError: -32700
        case .invalidRequest, .messageTooLarge: -32600
        case .methodNotFound: -32601
        case .invalidParams: -32602
        case .internalError: -32603
        case .requestCancelled: -32800
        case .downloadNotFound: 1001
        case .invalidState: 1002
        case .destinationConflict: 1003
        case .idConflict: 1004
        case .unsupportedUrl: 1005
        case .limitExceeded: 1006
        case .permissionDenied: 1008
        case .storageFailure: 1009
        case .lockedElsewhere: 1010
        case .cursorExpired: 1011
        case .shuttingDown: 1012
        case .resumeDataUnusable: 1013
        }
    }

    /// True for the kinds that this product defines, not JSON-RPC or LSP.
    package var isOurs: Bool { code > 0 }

    /// True when the same request, unchanged, may succeed later.
    package var isRetryable: Bool {
        switch self {
        case .requestCancelled, .storageFailure, .lockedElsewhere, .shuttingDown: true
        case .parseError, .invalidRequest, .messageTooLarge, .methodNotFound, .invalidParams, .internalError,
            .downloadNotFound, .invalidState, .destinationConflict, .idConflict, .unsupportedUrl, .limitExceeded,
            .permissionDenied, .cursorExpired, .resumeDataUnusable:
            false
        }
    }

    /// What it means, in one line.
    package var meaning: String {
        switch self {
        case .parseError: "The message is not JSON, or not JSON that is taken here."
        case .invalidRequest: "The message is JSON, but not a JSON-RPC 2.0 request."
        case .messageTooLarge: "The message is longer than \(FrameLimits.messageByteCount) bytes; it was skipped."
        case .methodNotFound: "There is no such method."
        case .invalidParams: "A parameter is missing, unknown, of the wrong type or out of range."
        case .internalError: "The service has a defect, or met something that it does not know."
        case .requestCancelled: "The client cancelled the request with $/cancelRequest."
        case .downloadNotFound: "There is no download with this id."
        case .invalidState: "The download's state does not allow this."
        case .destinationConflict: "The destination exists, or another download holds it."
        case .idConflict: "The id belongs to a download that was started with other parameters."
        case .unsupportedUrl: "The URL is malformed, or its scheme is not http or https."
        case .limitExceeded: "Something is longer or more than its limit, which data.limit names."
        case .permissionDenied: "The system, or --root, does not let the service write there."
        case .storageFailure: "The state store or the disk failed."
        case .lockedElsewhere: "A process that is alive owns the download."
        case .cursorExpired: "The cursor is of another list, or the revision of changedSince is too old."
        case .shuttingDown: "The service is about to exit and takes no more requests."
        case .resumeDataUnusable: "The partial file of the resume data cannot be taken over; data.reason says why."
        }
    }

    /// What a client should do, in one line.
    package var advice: String {
        switch self {
        case .parseError: "Send one JSON value a line, as UTF-8, with distinct keys."
        case .invalidRequest: "Send jsonrpc \"2.0\", a method and an id, and nothing else but params."
        case .messageTooLarge: "Split the request."
        case .methodNotFound: "Compare with rpc.discover; the service may be older than the client."
        case .invalidParams: "Mend the parameter that the message names."
        case .internalError: "Report it with the service's log; ask for the download's state before trying again."
        case .requestCancelled: "Nothing; what the request had already done stays done."
        case .downloadNotFound: "Drop the id; it may have been removed."
        case .invalidState: "Get the download and act on the state that it has now."
        case .destinationConflict: "Choose another path, or another ifExists."
        case .idConflict:
            "Choose another id, or send the parameters of the first start; data.differs names what differs."
        case .unsupportedUrl: "Mend the URL."
        case .limitExceeded: "Stay within the limit."
        case .permissionDenied: "Choose another path, or change its permissions."
        case .storageFailure: "Try again; if it stays, look at the disk and the service's log."
        case .lockedElsewhere: "Ask the process that owns it, or wait until it ends."
        case .cursorExpired: "List again without the parameter that data.path names."
        case .shuttingDown: "Start the service anew and send the request again."
        case .resumeDataUnusable:
            "partialInUse: pause or end the download that has it, try again; otherwise start without resumeData."
        }
    }
}
