package import Core
package import Platform

/// Where progress marks are written; `write` is called on a file worker's thread.
package protocol MarkSink: Sendable {
    /// Replaces a slot's bytes as one pwrite(2).
    func write(_ bytes: [UInt8], slot: Int) throws(Errno)
    /// Clears a slot, so that it claims nothing.
    func clear(slot: Int) throws(Errno)
}

/// The mark to write into a slot once the data is handed to the kernel.
package struct Mark: Sendable {
    package var sink: any MarkSink
    package var bytes: [UInt8]
    package var slot: Int

    package init(sink: any MarkSink, bytes: [UInt8], slot: Int) {
        self.sink = sink
        self.bytes = bytes
        self.slot = slot
    }
}

/// What to do when the final name is taken.
package enum PublishMode: Sendable, CaseIterable {
    case noReplace
    case replace
    /// Use the first free name of `name (1).ext` … `name (100).ext`.
    case numbered
}

/// A finished file that gets its final name.
package struct Publication: Sendable {
    package var file: OpenFile
    package var partialPath: String
    package var finalPath: String
    package var mode: PublishMode
    /// The finished file's permission bits: normally 0o666 without those of the umask.
    package var fileMode: UInt32

    package init(file: OpenFile, partialPath: String, finalPath: String, mode: PublishMode, fileMode: UInt32) {
        self.file = file
        self.partialPath = partialPath
        self.finalPath = finalPath
        self.mode = mode
        self.fileMode = fileMode
    }
}

/// One job; its result is a `FileOutcome`.
package enum FileJob: Sendable {
    /// Inspects a destination. The names are single components; links at them are not followed, those in the
    /// directory's path are. `createsDirectories`: first creates missing directories of the path. → `.inspected`
    case inspect(directory: String, name: String?, partialName: String?, createsDirectories: Bool = false)

    /// Which of these directories are outside the allowed directories, or are led out of them by a link. → `.located`
    case locate(directories: [String])

    /// Creates and locks a partial with mode 0600, which must not exist yet (`.exists`), and reserves space for it
    /// where the file system can, with its length still 0; without enough space nothing is left behind. Where the file
    /// system can, the file has no name until `name`. `replacesOrphan`: removes an empty file left by a killed process
    /// of ours. → `.opened`
    case createPartial(path: String, expectedByteCount: Int64?, replacesOrphan: Bool = false)

    /// Gives a new file its name, unless it has one; `.exists` if the name is taken. → `.named`
    case name(OpenFile, path: String)

    /// Opens an existing partial. A link, a FIFO, a file with a second name, of another owner or with another identity
    /// than expected is `.replaced`; one that another process has open is `.inUse`. One fdatasync collects a write-back
    /// error that was not reported yet. `destination`: a directory that a rename must be able to move it to
    /// (`.crossDevice`). → `.opened`
    case openPartial(
        path: String, expected: FileIdentity?, birthNanoseconds: Int64? = nil, destination: String? = nil)

    /// Inspects a partial, which may be open elsewhere. → `.described`
    case describePartial(path: String, expected: FileIdentity)

    /// Renames an open partial to the first free one of these names. → `.moved`
    case movePartial(OpenFile, candidates: [String])

    /// Reserves space for a file of that length where the file system can. Too little space is `.noSpace`, and the file
    /// stays as it is. → `.reserved`
    case reserve(OpenFile, byteCount: Int64)

    /// Writes the buffer's bytes at an offset, then the mark. → `.written`; the result returns the buffer
    case write(OpenFile, IOBuffer, offset: Int64, mark: Mark?)

    /// Writes only a mark, after the writes queued before, even if the file is poisoned: this withdraws claims of
    /// earlier marks. → `.marked`
    case mark(OpenFile, Mark)

    /// Makes durable all writes whose results arrived before this was submitted. → `.synchronized`
    case checkpoint(OpenFile)

    /// Creates a partial as `createPartial` does and writes all its bytes, unsynced; `publish` names it if `name` has
    /// not. → `.opened`; the result returns the buffer
    case writeSmall(path: String, IOBuffer, replacesOrphan: Bool = false)

    /// As `checkpoint`, for a complete file; a hole before `byteCount` is `.altered`. → `.synchronized`
    case syncForFinish(OpenFile, byteCount: Int64 = 0)

    /// Reads the whole file and computes its digest. → `.digested`
    case digest(OpenFile, Checksum.Algorithm, cancellation: CancellationFlag)

    /// Examines the file at a destination, following no link, and reads it when a digest is requested. → `.examined`
    case examine(path: String, digest: Checksum.Algorithm? = nil, cancellation: CancellationFlag)

    /// Gives a finished, synced file its final name and makes that durable; may be repeated after a failure or an
    /// interruption. → `.published`
    case publish(Publication)

    /// Looks for a file that was published just before a crash, and makes its name durable. → `.published` or
    /// `.notPublished`
    case lookForPublished(finalPath: String, identity: FileIdentity, byteCount: Int64, mode: PublishMode)

    /// Removes the name if it is still that file's. → `.removed`
    case discard(path: String, identity: FileIdentity)

    /// Removes a finished file if it is still that file with that length. → `.removed`
    case removeFinished(path: String, identity: FileIdentity, byteCount: Int64)

    /// `mustBeWhole`: a file that is shorter, or changed since our last operation, is `.altered`. → `.truncated`
    case truncate(OpenFile, to: Int64, mustBeWhole: Bool = false)

    /// Reads at most `FileWorkers.readLimitByteCount` bytes; fewer at the end of the file. → `.read`
    case read(OpenFile, ByteRange)

    /// Closes the file after the jobs that are running on it; its lock is released at once. → `.closed`
    case close(OpenFile)
}
