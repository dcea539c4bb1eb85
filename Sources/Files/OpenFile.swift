package import Core
package import Platform

/// A data file kept open by a download.  Isolation: any thread, state in Guarded; only file workers do its I/O.
///
/// After a failed write or flush the file is *poisoned*: everything queued for it fails with that first error, so that
/// no later mark or checkpoint claims the lost bytes. Only opening the file again clears this.
package final class OpenFile: Sendable {
    /// Its path when it was opened, or when it got its name.
    package var path: String { state.withLock { $0.path } }
    package let identity: FileIdentity
    /// The mount it was opened through; nil when the kernel does not report it.
    package let mountID: Int64?
    /// The allowed directories for its names.
    let scope: PathScope
    /// The volume whose lanes run its jobs.
    package var volume: VolumeID { VolumeID(identity) }
    /// The volume of its directory, whose space it uses: on overlayfs the file itself may have another device.
    package let directoryVolume: VolumeID
    let fileSystem: FileSystemTrust

    /// The descriptor, shared by running operations; closed when the last of them releases it.
    final class Handle: Sendable {
        let descriptor: FileDescriptor
        init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }
    }
    private struct State {
        var handle: Handle?
        var poison: FileError?
        var path: String
        var isNamed: Bool
        /// The status after our last operation; nil when changes are not detected.
        var leftStatus: FileStatus?
        /// Set when the file is complete and gets its final name.
        var finishedNanoseconds: Int64?
        /// Space is reserved up to this offset.
        var reservedByteCount: Int64 = 0
        /// How much may be written beyond that before the volume's free space is checked again.
        var allowanceByteCount: Int64 = 0
        /// The last mark for its bytes.
        var mark: Mark?
    }
    private let state: Guarded<State>

    /// Takes ownership of a descriptor and reads its identity.
    ///
    /// - Parameters:
    ///   - path: the path for error messages.
    ///   - isNamed: false while it has no name in any directory.
    ///   - scope: the allowed directories for its names.
    package init(
        _ descriptor: consuming FileDescriptor, path: String, isNamed: Bool = true, scope: PathScope = .anywhere
    ) throws(Errno) {
        let status = try descriptor.status()
        let mountID = descriptor.mountID()
        let fileSystem = FileSystemTrust(magic: descriptor.fileSystemMagic())
        let handle = Handle(descriptor)
        identity = status.identity
        self.mountID = mountID
        self.scope = scope
        self.fileSystem = fileSystem
        let directory = try? scope.directory(path.parentDirectory, for: .open)
        let directoryStatus = directory.flatMap { try? FileStatus(following: $0.place) }
        directoryVolume = VolumeID(directoryStatus?.identity ?? status.identity)
        state = Guarded(
            State(
                handle: handle, path: path, isNamed: isNamed,
                leftStatus: fileSystem.keepsTimes ? status : nil))
    }

    /// The first error that made the file unfit for writing, if any.
    package var poison: FileError? { state.withLock { $0.poison } }

    /// False while it has no name: then it disappears when its last descriptor is closed.
    package var isNamed: Bool { state.withLock { $0.isNamed } }

    /// Gives it its first name; `.exists` if that is taken. A file with a name keeps it.
    func giveName(_ path: String) throws(FileError) {
        if isNamed { return }
        let handle = try handleEvenIfPoisoned(for: .create)
        let file = try scope.file(path, for: .create)
        try attempt(.create, path) { () throws(Errno) in try handle.descriptor.giveName(file.place) }
        noteTouched(handle)
        state.withLock { state in
            state.path = path
            state.isNamed = true
        }
    }

    /// Marks the file unfit unless it already is, and returns the first error.
    func poison(_ error: FileError) -> FileError {
        state.withLock { state in
            let first = state.poison ?? error
            state.poison = first
            return first
        }
    }

    /// Writes the mark for the file's bytes; fails when a flush has failed by then.  C: pwrite(2)
    ///
    /// - Returns: why the mark could not be written, if it could not.
    func note(_ mark: Mark) throws(FileError) -> Errno? {
        state.withLock { $0.mark = mark }
        if let poison { throw poison }
        var failure: Errno?
        do throws(Errno) {
            try mark.sink.write(mark.bytes, slot: mark.slot)
        } catch {
            failure = error
        }
        // A flush that failed at the same time may have cleared the mark before it was written.
        if let poison { throw losePages(poison) }
        return failure
    }

    /// Marks the file unfit after a failed flush, and clears its mark before the failure is reported: a process that
    /// dies now leaves no mark that claims bytes the kernel may have dropped.
    func losePages(_ error: FileError) -> FileError {
        let first = poison(error)
        if let mark = state.withLock({ $0.mark }) { try? mark.sink.clear(slot: mark.slot) }
        return first
    }

    /// The file's status after our last operation; nil when changes by others are not detected.
    var leftStatus: FileStatus? {
        get { state.withLock { $0.leftStatus } }
        set { state.withLock { $0.leftStatus = newValue } }
    }

    /// When the bytes of a published file last changed, in nanoseconds since 1970; nil before it is published, and when
    /// unknown.
    package var finishedNanoseconds: Int64? { state.withLock { $0.finishedNanoseconds } }

    func noteFinished(_ nanoseconds: Int64) {
        state.withLock { $0.finishedNanoseconds = nanoseconds }
    }

    /// How many bytes, from offset 0, have their space reserved.
    package var reservedByteCount: Int64 { state.withLock { $0.reservedByteCount } }

    func noteReserved(_ byteCount: Int64) {
        state.withLock { $0.reservedByteCount = max($0.reservedByteCount, byteCount) }
    }

    func limitReserved(to byteCount: Int64) {
        state.withLock { $0.reservedByteCount = min($0.reservedByteCount, byteCount) }
    }

    /// True when bytes up to `end` may be written without a check of the volume's free space.
    func takeAllowance(_ byteCount: Int64, endingAt end: Int64) -> Bool {
        state.withLock { state in
            if end <= state.reservedByteCount { return true }
            guard byteCount <= state.allowanceByteCount else { return false }
            state.allowanceByteCount -= byteCount
            return true
        }
    }

    func grantAllowance(_ byteCount: Int64) {
        state.withLock { $0.allowanceByteCount = byteCount }
    }

    /// The descriptor for an operation that is not allowed on a poisoned file.
    func handle(for operation: FileError.Operation) throws(FileError) -> Handle {
        if let poison { throw poison }
        return try handleEvenIfPoisoned(for: operation)
    }

    /// The descriptor for an operation that claims nothing about written bytes.
    func handleEvenIfPoisoned(for operation: FileError.Operation) throws(FileError) -> Handle {
        if let handle = state.withLock({ $0.handle }) { return handle }
        throw FileError(operation, path, errno: .badDescriptor)
    }

    /// Removes and returns the descriptor; nil when that was done before.
    func takeHandle() -> Handle? {
        state.withLock { state in
            let handle = state.handle
            state.handle = nil
            return handle
        }
    }
}
