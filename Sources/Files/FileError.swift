package import Core
internal import Glibc
package import Platform

/// What a file worker could not do, with which path, and why.
package struct FileError: Error, Equatable, Sendable {
    /// What was attempted; the raw value completes "cannot …".
    package enum Operation: String, Sendable, CaseIterable {
        case inspect = "look at"
        case create = "create"
        case reserve = "reserve room for"
        case open = "open"
        case write = "write to"
        case synchronize = "flush to disk"
        case synchronizeDirectory = "flush to disk the directory"
        case digest = "compute the digest of"
        case publish = "move into place"
        case lookUp = "look for"
        case lock = "lock"
        case move = "take over"
        case remove = "remove"
        case truncate = "shorten"
        case verify = "go on with"
        case read = "read"
        case close = "close"
    }

    package enum Part: String, Sendable {
        case name
        case path
    }

    package enum Reason: Equatable, Sendable {
        case system(Errno)
        /// The path as a whole, or a name in it, has more bytes than the system takes.
        case tooLong(Part, maximum: Int)
        /// Something else than the file we made stands at its name, or it is a link, or it has a second name.
        case replaced
        /// Another process, or another state directory, has the partial open.
        case inUse
        /// It lies in none of the directories that files may lie in, or a link leads out of them.
        case outsideRoots
        /// Somebody else has changed a file that is open here.
        case altered
        /// The name is taken, or for numbered names all of them are.
        case exists
        case canceled
        /// The workers have been stopped.
        case stopped
        /// libcrypto has no such digest or its configuration forbids it.
        case digestUnavailable
        /// A worker has answered with something else than the job asks for: a defect of ours.
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

    /// The system's error number, where the system said one.
    package var errno: Errno? {
        switch reason {
        case .system(let errno): errno
        case .tooLong: .nameTooLong
        default: nil
        }
    }

    /// The failure that a download's record keeps.
    ///
    /// Retryable only where waiting may help: room may be freed, descriptors given back, a server come back.
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
            // A flush needs no descriptor: what it says is of the disk, and no flush after it proves anything.
            (.io, false, errno.message)
        case .system(let errno): (Self.kind(of: errno), Self.passesWithTime(errno), errno.message)
        case .tooLong(let part, let maximum):
            (.io, false, "the \(part.rawValue) is longer than \(maximum) bytes")
        case .replaced: (.partialReplaced, false, "another file stands there, or it has been removed")
        case .altered: (.partialReplaced, true, "somebody else has changed it while it was open")
        case .inUse: (.partialInUse, true, "another process has it open")
        case .outsideRoots: (.permissionDenied, false, "it lies outside of the directories that --root allows")
        case .exists: (.destinationConflict, false, "the name is taken")
        case .canceled: (.internal, true, "canceled")
        case .stopped: (.internal, true, "the service is ending")
        case .wrongAnswer: (.internal, true, "the file worker gave an answer of another kind")
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

/// Runs system calls and says of what fails which operation on which path it was.
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
