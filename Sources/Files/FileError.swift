package import Core
internal import Glibc
package import Platform

/// A failed operation of a file worker: which operation, which path, and why.
package struct FileError: Error, Equatable, Sendable {
    /// The operation; the raw value completes "cannot …".
    package enum Operation: String, Sendable, CaseIterable {
        case inspect = "check"
        case create = "create"
        case reserve = "reserve space for"
        case open = "open"
        case write = "write to"
        case synchronize = "flush to disk"
        case synchronizeDirectory = "flush to disk the directory"
        case digest = "compute the digest of"
        case publish = "move into place"
        case lookUp = "find"
        case lock = "lock"
        case move
        case remove = "remove"
        case truncate = "shorten"
        case verify = "continue with"
        case read = "read"
        case close = "close"
    }

    package enum Part: String, Sendable {
        case name
        case path
    }

    package enum Reason: Equatable, Sendable {
        case system(Errno)
        /// The whole path, or a name in it, has more bytes than the system allows.
        case tooLong(Part, maximum: Int)
        /// The name is that of another file, the file is a link, or it has a second name.
        case replaced
        /// Another process, or another state directory, has the partial open.
        case inUse
        /// The path is outside the allowed directories, or a link leads out of them.
        case outsideRoots
        /// Another program has changed the file while it was open here.
        case altered
        /// The name is taken; for numbered names, all of them are.
        case exists
        case canceled
        /// The workers have been stopped.
        case stopped
        /// libcrypto does not have the digest, or its configuration forbids it.
        case digestUnavailable
        /// A worker returned a result of another type than the job has: a bug of ours.
        case wrongAnswer
    }

    package var operation: Operation
    package var path: String
    package var reason: Reason

    package init(_ operation: Operation, _ path: String, _ reason: Reason) {
        self.operation = operation
        self.path = path
        self.reason = reason
    }

    package init(_ operation: Operation, _ path: String, errno: Errno) {
        self.init(operation, path, errno == .exists ? .exists : .system(errno))
    }

    /// The system's error number, if there is one.
    package var errno: Errno? {
        switch reason {
        case .system(let errno): errno
        case .tooLong: .nameTooLong
        default: nil
        }
    }

    /// The failure in the download's record.
    ///
    /// Retryable only where waiting may help: space or descriptors may become free, a server may return.
    package var downloadFailure: DownloadFailure {
        let (kind, isRetryable, text) = classification
        return DownloadFailure(
            kind,
            "cannot \(operation.rawValue) \(path): \(text)",
            isRetryable: isRetryable,
            errno: errno.map { Int($0.code) }
        )
    }

    private var classification: (FailureKind, isRetryable: Bool, text: String) {
        switch reason {
        case .system(let errno) where operation == .synchronize && errno.isDescriptorShortage:
            // A flush needs no descriptor, so the error is the disk's, and a later flush proves nothing.
            (.io, false, errno.message)
        case .system(let errno): (Self.kind(of: errno), Self.passesWithTime(errno), errno.message)
        case .tooLong(let part, let maximum):
            (.io, false, "the \(part.rawValue) is longer than \(maximum) bytes")
        case .replaced: (.partialReplaced, false, "it was removed or replaced by another file")
        case .altered: (.partialReplaced, true, "another program changed it while it was open")
        case .inUse: (.partialInUse, true, "another process has it open")
        case .outsideRoots: (.permissionDenied, false, "it is outside the directories that --root allows")
        case .exists: (.destinationConflict, false, "the name is taken")
        case .canceled: (.internal, true, "canceled")
        case .stopped: (.internal, true, "the service is ending")
        case .wrongAnswer: (.internal, true, "the file worker returned a result of another type")
        case .digestUnavailable: (.internal, false, "the cryptographic library does not offer this digest")
        }
    }

    private static func kind(of errno: Errno) -> FailureKind {
        switch errno.code {
        case ENOSPC, EDQUOT: .diskFull
        case EACCES, EPERM: .permissionDenied
        case ENOENT, ENOTDIR, ELOOP, ENODEV: .destinationGone
        case EFBIG, EOVERFLOW: .fileTooLarge
        case EEXIST, EISDIR, ENOTEMPTY: .destinationConflict
        default: .io
        }
    }

    private static func passesWithTime(_ errno: Errno) -> Bool {
        switch errno.code {
        case ENOSPC, EDQUOT, EMFILE, ENFILE, ENOMEM, EAGAIN, EBUSY, ESTALE, ETIMEDOUT: true
        default: false
        }
    }
}

/// Runs system calls; a failure becomes an error with this operation and path.
func attempt<Value: ~Copyable>(
    _ operation: FileError.Operation,
    _ path: String,
    _ body: () throws(Errno) -> Value
) throws(FileError) -> Value {
    do throws(Errno) {
        return try body()
    } catch {
        throw FileError(operation, path, errno: error)
    }
}
