package import Core

/// Why the engine could not do what it was asked; nothing has changed then.
package enum EngineError: Error, Equatable, Sendable {
    case downloadNotFound(id: String)
    /// The command does not apply in this state.
    case invalidState(id: String, state: DownloadState, command: DownloadCommand)
    /// Nothing can be updated in this state.
    case notUpdatable(id: String, state: DownloadState)
    /// Nothing is left to go on with in this state.
    case notExportable(id: String, state: DownloadState)
    /// What the resume data speaks of cannot be taken over.
    case resumeDataUnusable(path: String, reason: ResumeDataProblem)
    /// The destination exists and `ifExists` is `error`, or is a directory or something else that no file may replace.
    case destinationExists(path: String)
    /// Another download holds the destination.
    case destinationHeld(path: String, id: String)
    /// The directory is missing or is not a directory.
    case directoryMissing(path: String)
    /// The destination, or a name in it, has more bytes than its file system takes.
    case nameTooLong(path: String, isPath: Bool, maximum: Int)
    case idConflict(id: String, differs: [String])
    case unsupportedURL(message: String)
    case limitExceeded(limit: String, maximum: Int64)
    case permissionDenied(path: String)
    /// It lies in none of the directories that files may lie in.
    case outsideRoots(path: String)
    case storageFailure(message: String)
    /// Something came that cannot be, unless the service has a defect.
    case internalError(message: String)
    /// A live process of the same application owns the download.
    case lockedElsewhere(id: String, owner: OwnerProcess? = nil)
    case cursorExpired
    case invalidCursor
    case shuttingDown
}

/// The process that a download belongs to.
package struct OwnerProcess: Equatable, Sendable {
    /// In that process's own namespace.
    package var id: Int64
    /// It goes on without its host, and gives a download up when another process asks.
    package var yields: Bool

    package init(id: Int64, yields: Bool) {
        self.id = id
        self.yields = yields
    }
}

/// Why a partial that resume data names cannot be taken over; the raw values are the wire's `data.reason`.
package enum ResumeDataProblem: String, Sendable, CaseIterable {
    /// Not there any more: used before, finished, or deleted.
    case partialMissing
    /// Another file has its name.
    case partialReplaced
    /// A process has it open.
    case partialInUse
    /// The destination is on another file system than the partial.
    case otherFileSystem
    /// It was not exported by this user on this machine, or its key is gone.
    case unproven
}
