package import Platform

/// The answer to one job.
package struct FileResult: Sendable {
    package var ticket: UInt64
    package var outcome: FileOutcome
    /// The buffer that came with a `write` or `writeSmall`, whatever became of it; nil for all other jobs.
    package var buffer: IOBuffer?

    init(ticket: UInt64, outcome: FileOutcome, buffer: IOBuffer? = nil) {
        self.ticket = ticket
        self.outcome = outcome
        self.buffer = buffer
    }
}

/// What became of a job.
package enum FileOutcome: Sendable {
    case inspected(DestinationStatus)
    /// One that is missing, or cannot be opened, is not among them.
    case located(outside: Set<String>)
    case opened(OpenedPartial)
    case named
    case reserved
    /// The data is with the kernel; `markError` says why the mark is not.
    case written(markError: Errno?)
    case marked
    case synchronized
    case digested(FileDigest)
    /// Nil when there is no plain file.
    case examined(ExaminedFile?)
    case published(PublishedFile)
    case notPublished
    case removed(Removal)
    case truncated
    case read([UInt8])
    case described(PartialDescription)
    /// The partial's name from now on.
    case moved(path: String)
    case closed
    case failed(FileError)
}

/// What stands at a name, no link followed.
package enum Occupant: Equatable, Sendable {
    case nothing
    case regular(FileIdentity, byteCount: Int64)
    case directory
    /// A link, FIFO, socket or device.
    case other
}

/// A destination as it was at one moment.
package struct DestinationStatus: Equatable, Sendable {
    package enum Directory: Equatable, Sendable {
        case missing
        case notDirectory
        case present(VolumeID)
    }
    package var directory: Directory
    /// False also when there is no such directory.
    package var isWritable: Bool
    /// The file system takes no changes, whoever asks.
    package var isReadOnly: Bool
    /// What this process may still write there; nil when unknown.
    package var availableByteCount: Int64?
    /// What a new file may take of that, the volume's floor left free; nil when unknown.
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

/// A partial that is open for writing.
package struct OpenedPartial: Sendable {
    package var file: OpenFile
    /// The file's length, which says nothing about progress.
    package var byteCount: Int64
    /// A write-back error from before it was opened: then only what was durable may be trusted.
    package var pendingError: Errno?
    /// Where the first hole is, or the end of the file; nil where the file system does not say.
    package var writtenEnd: Int64?
}

/// What tells a partial from others that stood, or will stand, at its name.
package struct PartialDescription: Equatable, Sendable {
    package var byteCount: Int64
    /// When it was made; nil where the file system does not keep that.
    package var birthNanoseconds: Int64?
}

/// A plain file as it stood at its name: what tells whether it is still the same one.
package struct ExaminedFile: Equatable, Sendable {
    package var identity: FileIdentity
    package var byteCount: Int64
    /// When its bytes changed last, in nanoseconds since 1970.
    package var modifiedNanoseconds: Int64
    /// Of its bytes, if it was asked for; nil also for a file that changed while it was read.
    package var digest: FileDigest?

    package init(identity: FileIdentity, byteCount: Int64, modifiedNanoseconds: Int64, digest: FileDigest? = nil) {
        self.identity = identity
        self.byteCount = byteCount
        self.modifiedNanoseconds = modifiedNanoseconds
        self.digest = digest
    }
}

/// The digest of a file's bytes as they were read back.
package struct FileDigest: Equatable, Sendable {
    /// Lower case.
    package var hexadecimal: String
    /// How many bytes went into it.
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

/// What became of a name that was to be removed.
package enum Removal: Equatable, Sendable {
    case removed
    case wasAbsent
    /// Something else stands there; it was left alone.
    case stranger
}
