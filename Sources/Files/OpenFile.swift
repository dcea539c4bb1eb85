package import Core
package import Platform

/// A data file held open by a download.  Isolation: any thread, state in Guarded; its I/O belongs to the file workers.
///
/// After a failed write or flush the file is *poisoned*: everything queued for it fails with that first error, so that
/// no later mark or checkpoint claims the bytes that were lost. Only opening the file anew cures it.
package final class OpenFile: Sendable {
    /// Where it was when it was opened, or got its name.
    package var path: String { state.withLock { $0.path } }
    package let identity: FileIdentity
    /// The mount it was opened through; nil where the kernel does not say.
    package let mountID: Int64?
    /// Where it may get its names.
    let scope: PathScope
    /// What its jobs are queued by.
    package var volume: VolumeID { VolumeID(identity) }
    /// The volume of its directory, which has the room: on overlayfs the file itself may have another device.
    package let directoryVolume: VolumeID
    let fileSystem: FileSystemTrust

    /// The descriptor, shared by the operations in flight: the last of them to let go closes it.
    final class Handle: Sendable {
        let descriptor: FileDescriptor
        init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }
    }
    private struct State {
        var handle: Handle?
        var poison: FileError?
        var path: String
        var isNamed: Bool
        /// How an operation of ours left it; nil where nobody looks.
        var leftStatus: FileStatus?
        /// Set once its bytes are whole and it gets its final name.
        var finishedNanoseconds: Int64?
        /// Up to here its room is its own.
        var reservedByteCount: Int64 = 0
        /// What may be written beyond before the volume's room is looked at again.
        var allowanceByteCount: Int64 = 0
        /// The last mark that speaks for its bytes.
        var mark: Mark?
    }
    private let state: Guarded<State>

    /// Takes over a descriptor, whose identity is read now.
    ///
    /// - Parameters:
    ///   - path: what error messages call it.
    ///   - isNamed: false while it has no name in any directory.
    ///   - scope: where it may get its names.
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

    /// False while it has no name: then it goes with its last descriptor, as if it had never been.
    package var isNamed: Bool { state.withLock { $0.isNamed } }

    /// Gives it its first name; `.exists` if that is taken. One that has a name keeps it.
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

    /// Marks the file unfit unless it already is, and returns the error that counts: the first.
    func poison(_ error: FileError) -> FileError {
        state.withLock { state in
            let first = state.poison ?? error
            state.poison = first
            return first
        }
    }

    /// Writes the mark that speaks for the file's bytes; fails when a flush has failed by then.  C: pwrite(2)
    ///
    /// - Returns: why it could not be written, if it could not.
    func note(_ mark: Mark) throws(FileError) -> Errno? {
        state.withLock { $0.mark = mark }
        if let poison { throw poison }
        var failure: Errno?
        do throws(Errno) {
            try mark.sink.write(mark.bytes, slot: mark.slot)
        } catch {
            failure = error
        }
        // A flush that failed meanwhile may have looked for the mark before it was written.
        if let poison { throw losePages(poison) }
        return failure
    }

    /// Marks the file unfit because of a failed flush, and has its mark say nothing before anybody is told: a process that
    /// dies now leaves no mark behind that claims what the kernel may have dropped.
    func losePages(_ error: FileError) -> FileError {
        let first = poison(error)
        if let mark = state.withLock({ $0.mark }) { try? mark.sink.clear(slot: mark.slot) }
        return first
    }

    /// How the last operation of ours left it; nil where changes by others are not looked for.
    var leftStatus: FileStatus? {
        get { state.withLock { $0.leftStatus } }
        set { state.withLock { $0.leftStatus = newValue } }
    }

    /// When the bytes of a published file changed last, in nanoseconds since 1970; nil before, and where that is not known.
    package var finishedNanoseconds: Int64? { state.withLock { $0.finishedNanoseconds } }

    func noteFinished(_ nanoseconds: Int64) {
        state.withLock { $0.finishedNanoseconds = nanoseconds }
    }

    /// How many bytes from the first on have their room reserved.
    package var reservedByteCount: Int64 { state.withLock { $0.reservedByteCount } }

    func noteReserved(_ byteCount: Int64) {
        state.withLock { $0.reservedByteCount = max($0.reservedByteCount, byteCount) }
    }

    func limitReserved(to byteCount: Int64) {
        state.withLock { $0.reservedByteCount = min($0.reservedByteCount, byteCount) }
    }

    /// True when bytes up to `end` may be written without a look at the volume's room.
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

    /// The descriptor for an operation that a poisoned file must not see.
    func handle(for operation: FileError.Operation) throws(FileError) -> Handle {
        if let poison { throw poison }
        return try handleEvenIfPoisoned(for: operation)
    }

    /// The descriptor for an operation that claims nothing about what was written.
    func handleEvenIfPoisoned(for operation: FileError.Operation) throws(FileError) -> Handle {
        if let handle = state.withLock({ $0.handle }) { return handle }
        throw FileError(operation, path, errno: .badDescriptor)
    }

    /// Lets go of the descriptor; nil when that has been done before.
    func takeHandle() -> Handle? {
        state.withLock { state in
            let handle = state.handle
            state.handle = nil
            return handle
        }
    }
}
