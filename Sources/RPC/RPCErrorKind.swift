/// Every kind of error in an answer; the raw value is the wire's stable `data.kind`.
///
/// A closed set, so that the published table of errors can be generated from it; `meaning` documents each.
package enum RPCErrorKind: String, Sendable, CaseIterable {
    // JSON-RPC's kinds
    case parseError
    case invalidRequest
    case messageTooLarge
    case methodNotFound
    case invalidParams
    case internalError
    // LSP's kind
    case requestCancelled
    // Our kinds
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

    /// The wire's `code`. Ours are positive: JSON-RPC and LSP reserve negative ones.
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

    /// True for the kinds that Towline defines, not JSON-RPC or LSP.
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

    /// The meaning, in one line.
    package var meaning: String {
        switch self {
        case .parseError: "The message is not JSON, or an object in it has a key twice."
        case .invalidRequest: "The message is JSON, but not a JSON-RPC 2.0 request."
        case .messageTooLarge: "The message is longer than \(FrameLimits.messageByteCount) bytes; it was skipped."
        case .methodNotFound: "There is no such method."
        case .invalidParams: "A parameter is missing, unknown, of the wrong type or out of range."
        case .internalError: "The service has a bug, or met an unexpected condition."
        case .requestCancelled: "The client cancelled the request with $/cancelRequest."
        case .downloadNotFound: "There is no download with this id."
        case .invalidState: "The download's state does not allow this."
        case .destinationConflict: "The destination exists, or another download uses it, or its directory is missing."
        case .idConflict: "The id belongs to a download that was started with other parameters."
        case .unsupportedUrl: "The URL is malformed, or its scheme is not http or https."
        case .limitExceeded: "A limit is exceeded; data.limit names it."
        case .permissionDenied: "The system or --root does not allow writing there."
        case .storageFailure: "The state store or the disk failed."
        case .lockedElsewhere: "Another running process owns the download."
        case .cursorExpired: "The cursor belongs to another list, or the revision in changedSince is too old."
        case .shuttingDown: "The service is about to exit and accepts no more requests."
        case .resumeDataUnusable: "The partial file of the resume data cannot be taken over; data.reason says why."
        }
    }

    /// What the client should do, in one line.
    package var advice: String {
        switch self {
        case .parseError: "Send one JSON value per line, in UTF-8, with distinct keys."
        case .invalidRequest: "Send only jsonrpc \"2.0\", a method, an id and params."
        case .messageTooLarge: "Split the request."
        case .methodNotFound: "Compare with rpc.discover; the service may be older than the client."
        case .invalidParams: "Correct the parameter that the message names."
        case .internalError: "Report it with the service's log; read the download's state before you try again."
        case .requestCancelled: "Do nothing; what the request already changed stays changed."
        case .downloadNotFound: "Drop the id; it may have been removed."
        case .invalidState: "Get the download and act on its current state."
        case .destinationConflict: "See data.reason: choose another path or ifExists, or use data.id."
        case .idConflict:
            "Choose another id, or send the parameters of the first start; data.differs names what differs."
        case .unsupportedUrl: "Correct the URL."
        case .limitExceeded: "Stay within the limit."
        case .permissionDenied: "Choose another path, or change its permissions."
        case .storageFailure: "Try again; if it keeps failing, check the disk and the service's log."
        case .lockedElsewhere: "Use the process that owns it, or wait until that exits."
        case .cursorExpired: "List again without the parameter that data.path names."
        case .shuttingDown: "Start the service again and repeat the request."
        case .resumeDataUnusable:
            "partialInUse: pause or cancel the download that uses the file, then try again; otherwise start without resumeData."
        }
    }
}
