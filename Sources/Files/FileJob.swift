package import Core
package import Platform

/// Where progress marks are kept; its `write` is called on a file worker's thread.
package protocol MarkSink: Sendable {
    /// Replaces a slot's bytes as one pwrite(2).
    func write(_ bytes: [UInt8], slot: Int) throws(Errno)
    /// Makes a slot say nothing.
    func clear(slot: Int) throws(Errno)
}

/// What to note in which slot once the data is with the kernel.
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
    /// Take `name (1).ext` … `name (100).ext`, the first that is free.
    case numbered
}

/// A finished file that is to get its final name.
package struct Publication: Sendable {
    package var file: OpenFile
    package var partialPath: String
    package var finalPath: String
    package var mode: PublishMode
    /// The finished file's permission bits: as a rule 0o666 without those of the umask.
    package var fileMode: UInt32

    package init(file: OpenFile, partialPath: String, finalPath: String, mode: PublishMode, fileMode: UInt32) {
        self.file = file
        self.partialPath = partialPath
        self.finalPath = finalPath
        self.mode = mode
        self.fileMode = fileMode
    }
}

/// One piece of work for `FileWorkers`; what each answers stands in `FileOutcome`.
package enum FileJob: Sendable {
    /// What stands at a destination. The names are single components; links at them are not followed, those in the
    /// directory's path are. `createsDirectories`: first makes what is missing of the directory's path. → `.inspected`
    case inspect(directory: String, name: String?, partialName: String?, createsDirectories: Bool = false)

    /// Which of these directories lie outside of where files may lie, or are led there by a link. → `.located`
    case locate(directories: [String])

    /// Makes and locks a partial, mode 0600, that must not exist yet (`.exists`), and reserves room for it where the file
    /// system can, its length still 0; when there is no room nothing is left behind. Where the file system can, it is
    /// there under its name only after `name`. `replacesOrphan`: an empty file that a killed process of ours made goes.
    /// → `.opened`
    case createPartial(path: String, expectedByteCount: Int64?, replacesOrphan: Bool = false)

    /// Gives a new file its name, unless it has one; `.exists` if that is taken. → `.named`
    case name(OpenFile, path: String)

    /// Opens a partial that was made before; a link, a FIFO, a second name, another owner or another identity than the
    /// expected is `.replaced`, one that another process has open is `.inUse`. One fdatasync collects a write-back error
    /// that nobody was told of. `destination`: a directory that a rename must be able to bring it to (`.crossDevice`). → `.opened`
    case openPartial(
        path: String, expected: FileIdentity?, birthNanoseconds: Int64? = nil, destination: String? = nil)

    /// Looks at a partial, which may be open elsewhere. → `.described`
    case describePartial(path: String, expected: FileIdentity)

    /// Gives an open partial the first of these names that is free. → `.moved`
    case movePartial(OpenFile, candidates: [String])

    /// Reserves room for a file of that length where the file system can; what cannot be had is `.noSpace`, and the
    /// file stays as it is. → `.reserved`
    case reserve(OpenFile, byteCount: Int64)

    /// Writes the buffer's filled bytes at an offset, then the mark. → `.written`; the result gives the buffer back
    case write(OpenFile, IOBuffer, offset: Int64, mark: Mark?)

    /// Writes a mark alone, after the writes queued before; the file may be poisoned: so is taken back what earlier
    /// marks claimed. → `.marked`
    case mark(OpenFile, Mark)

    /// Makes durable all writes whose results came before this was submitted. → `.synchronized`
    case checkpoint(OpenFile)

    /// Makes a partial as `createPartial` does and writes all its bytes, unsynced; `publish` names it where `name` has
    /// not. → `.opened`; the result gives the buffer back
    case writeSmall(path: String, IOBuffer, replacesOrphan: Bool = false)

    /// As `checkpoint`, for a file with all its bytes; one with a hole before that length is `.altered`. → `.synchronized`
    case syncForFinish(OpenFile, byteCount: Int64 = 0)

    /// Reads the whole file back. → `.digested`
    case digest(OpenFile, Checksum.Algorithm, cancellation: CancellationFlag)

    /// Looks at the file that stands at a destination, no link followed, and reads it where its digest is wanted.
    /// → `.examined`
    case examine(path: String, digest: Checksum.Algorithm? = nil, cancellation: CancellationFlag)

    /// Gives a finished, synced file its final name and makes that durable; may be repeated when it failed or was
    /// interrupted half-way. → `.published`
    case publish(Publication)

    /// Looks for a file that was published just before a crash, and makes its name durable.
    /// → `.published` or `.notPublished`
    case lookForPublished(finalPath: String, identity: FileIdentity, byteCount: Int64, mode: PublishMode)

    /// Removes the name if it still is that file's. → `.removed`
    case discard(path: String, identity: FileIdentity)

    /// Removes a finished file if it still is that file with that length. → `.removed`
    case removeFinished(path: String, identity: FileIdentity, byteCount: Int64)

    /// `mustBeWhole`: a file that is shorter, or not as our operations left it, is `.altered`. → `.truncated`
    case truncate(OpenFile, to: Int64, mustBeWhole: Bool = false)

    /// Reads at most `FileWorkers.readLimitByteCount` bytes; fewer at the end of the file. → `.read`
    case read(OpenFile, ByteRange)

    /// Closes the file once the jobs that are running on it are through; its lock is free at once. → `.closed`
    case close(OpenFile)
}
