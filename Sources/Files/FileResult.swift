package import Platform

/// The result of one job.
package struct FileResult: Sendable {
    package var ticket: UInt64
    package var outcome: FileOutcome
    /// The buffer of a `write` or `writeSmall`, also after a failure; nil for all other jobs.
    package var buffer: IOBuffer?

    init(ticket: UInt64, outcome: FileOutcome, buffer: IOBuffer? = nil) {
        self.ticket = ticket
        self.outcome = outcome
        self.buffer = buffer
    }
}

/// The outcome of a job.
package enum FileOutcome: Sendable {
    case inspected(DestinationStatus)
    /// Directories that are missing or cannot be opened are left out.
    case located(outside: Set<String>)
    case opened(OpenedPartial)
    case named
    case reserved
    /// The data is handed to the kernel; `markError` says why the mark was not written.
    case written(markError: Errno?)
    case marked
    case synchronized
    case digested(FileDigest)
    /// Nil when there is no regular file.
    case examined(ExaminedFile?)
    case published(PublishedFile)
    case notPublished
    case removed(Removal)
    case truncated
    case read([UInt8])
    case described(PartialDescription)
    /// The partial's new path.
    case moved(path: String)
    case closed
    case failed(FileError)
}

/// What is at a name; links are not followed.
package enum Occupant: Equatable, Sendable {
    case nothing
    case regular(FileIdentity, byteCount: Int64)
    case directory
    /// A link, FIFO, socket or device.
    case other
}

/// A destination at one moment.
package struct DestinationStatus: Equatable, Sendable {
    package enum Directory: Equatable, Sendable {
        case missing
        case notDirectory
        case present(VolumeID)
    }
    package var directory: Directory
    /// False also when the directory does not exist.
    package var isWritable: Bool
    /// The file system is read-only for everyone.
    package var isReadOnly: Bool
    /// The space this process may still use there; nil when unknown.
    package var availableByteCount: Int64?
    /// The part of it a new file may use, without the volume's floor; nil when unknown.
    package var spareByteCount: Int64?
    package var atName: Occupant
    package var atPartialName: Occupant

    package init(
        directory: Directory,
        isWritable: Bool,
        isReadOnly: Bool = false,
        availableByteCount: Int64? = nil,
        spareByteCount: Int64? = nil,
        atName: Occupant,
        atPartialName: Occupant
    ) {
        self.directory = directory
        self.isWritable = isWritable
        self.isReadOnly = isReadOnly
        self.availableByteCount = availableByteCount
        self.spareByteCount = spareByteCount
        self.atName = atName
        self.atPartialName = atPartialName
    }
}

/// A partial opened for writing.
package struct OpenedPartial: Sendable {
    package var file: OpenFile
    /// The file's length, which says nothing about progress.
    package var byteCount: Int64
    /// A write-back error from before it was opened: then only durable bytes may be trusted.
    package var pendingError: Errno?
    /// The offset of the first hole, or the end of the file; nil when the file system does not report holes.
    package var writtenEnd: Int64?
}

/// Tells a partial from earlier or later files with the same name.
package struct PartialDescription: Equatable, Sendable {
    package var byteCount: Int64
    /// When it was created; nil when the file system does not store that.
    package var birthNanoseconds: Int64?
}

/// A regular file at its name, with what tells whether it is still the same file.
package struct ExaminedFile: Equatable, Sendable {
    package var identity: FileIdentity
    package var byteCount: Int64
    /// When its bytes last changed, in nanoseconds since 1970.
    package var modifiedNanoseconds: Int64
    /// The digest, if requested; nil also for a file that changed while it was read.
    package var digest: FileDigest?

    package init(identity: FileIdentity, byteCount: Int64, modifiedNanoseconds: Int64, digest: FileDigest? = nil) {
        self.identity = identity
        self.byteCount = byteCount
        self.modifiedNanoseconds = modifiedNanoseconds
        self.digest = digest
    }
}

/// The digest of a file's bytes, read back from the file.
package struct FileDigest: Equatable, Sendable {
    /// Lower case.
    package var hexadecimal: String
    /// How many bytes were digested.
    package var byteCount: Int64

    package init(hexadecimal: String, byteCount: Int64) {
        self.hexadecimal = hexadecimal
        self.byteCount = byteCount
    }
}

/// A file under its final name.
package struct PublishedFile: Equatable, Sendable {
    package var path: String
    package var identity: FileIdentity

    package init(path: String, identity: FileIdentity) {
        self.path = path
        self.identity = identity
    }
}

/// The result of a removal.
package enum Removal: Equatable, Sendable {
    case removed
    case wasAbsent
    /// Another file has that name; it was not touched.
    case stranger
}
