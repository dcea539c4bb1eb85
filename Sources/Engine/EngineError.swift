package import Core
internal import Store

/// Why the engine did not perform a request; nothing has changed then.
package enum EngineError: Error, Equatable, Sendable {
    case downloadNotFound(id: String)
    /// The command is not allowed in this state.
    case invalidState(id: String, state: DownloadState, command: DownloadCommand)
    /// An update is not allowed in this state.
    case notUpdatable(id: String, state: DownloadState)
    /// There is nothing to continue in this state.
    case notExportable(id: String, state: DownloadState)
    /// The partial of the resume data cannot be taken over.
    case resumeDataUnusable(path: String, reason: ResumeDataProblem)
    /// The destination exists and `ifExists` is `error`, or it is a directory or something else that no file may
    /// replace.
    case destinationExists(path: String)
    /// Another download uses the destination.
    case destinationHeld(path: String, id: String)
    /// The directory is missing or is not a directory.
    case directoryMissing(path: String)
    /// The destination, or a name in it, is longer than its file system allows.
    case nameTooLong(path: String, isPath: Bool, maximum: Int)
    case idConflict(id: String, differs: [String])
    case unsupportedURL(message: String)
    case limitExceeded(limit: String, maximum: Int64)
    case permissionDenied(path: String)
    /// It is in none of the directories in which files may be.
    case outsideRoots(path: String)
    case storageFailure(message: String)
    /// Something impossible happened, so the service has a bug.
    case internalError(message: String)
    /// A running process of the same application owns the download.
    case lockedElsewhere(id: String, owner: OwnerProcess? = nil)
    case cursorExpired
    case invalidCursor
    case shuttingDown
}

/// The process that owns a download.
package struct OwnerProcess: Equatable, Sendable {
    /// In that process's own pid namespace.
    package var id: Int64
    /// It continues without its host, and releases a download when another process asks.
    package var yields: Bool

    package init(id: Int64, yields: Bool) {
        self.id = id
        self.yields = yields
    }
}

/// Why the partial of resume data cannot be taken over; the raw values are the wire's `data.reason`.
package enum ResumeDataProblem: String, Sendable, CaseIterable {
    /// It does not exist any more: already used, finished, or deleted.
    case partialMissing
    /// Another file has its name.
    case partialReplaced
    /// A process has it open.
    case partialInUse
    /// The destination is on another file system than the partial.
    case otherFileSystem
    /// It was not exported by this user on this machine, or the key does not exist any more.
    case unproven
}

extension EngineError {
    /// Why the store could not do what a request needs.
    init(_ error: StoreError) {
        self = error == .wrongAnswer ? .internalError(message: error.message) : .storageFailure(message: error.message)
    }
}
