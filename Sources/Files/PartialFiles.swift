internal import Core
internal import Glibc
internal import Platform

/// Creates a partial, and reserves space for it where the file system can.
func createPartial(
    _ path: String, expectedByteCount: Int64?, replacesOrphan: Bool, in scope: PathScope
) throws(FileError) -> OpenedPartial {
    let file = try makeFile(path, replacesOrphan: replacesOrphan, in: scope)
    guard let expectedByteCount, expectedByteCount > 0 else { return OpenedPartial(file: file, byteCount: 0) }
    do throws(FileError) {
        try file.reserve(byteCount: expectedByteCount)
        return OpenedPartial(file: file, byteCount: 0)
    } catch {
        throw abandon(file, error)
    }
}

/// Creates a partial with all its bytes, not yet durable.
func createPartial(
    _ path: String, holding buffer: IOBuffer, replacesOrphan: Bool, in scope: PathScope
) throws(FileError) -> OpenedPartial {
    let file = try makeFile(path, replacesOrphan: replacesOrphan, in: scope)
    do throws(FileError) {
        _ = try file.write(buffer, at: 0, mark: nil)
        return OpenedPartial(file: file, byteCount: Int64(buffer.count))
    } catch {
        throw abandon(file, error)
    }
}

/// Opens and locks an existing partial, unless another file is there now.
///
/// - Parameters:
///   - birthNanoseconds: when the file was created, if known: inode numbers are reused.
///   - destination: a directory that a rename must be able to move the file to.
func openPartial(
    _ path: String, expected: FileIdentity?, birthNanoseconds: Int64? = nil, destination: String? = nil,
    in scope: PathScope
) throws(FileError) -> OpenedPartial {
    let descriptor = try openOurs(scope.file(path, for: .open), expected: expected, flags: O_RDWR)
    if let birthNanoseconds, descriptor.birthNanoseconds() != birthNanoseconds {
        throw FileError(.open, path, .replaced)
    }
    guard try attempt(.lock, path, { () throws(Errno) in try lockAlone(descriptor) }) else {
        throw FileError(.open, path, .inUse)
    }
    if let destination {
        let directory = try scope.directory(destination, for: .move)
        let file = try scope.file(path, for: .move)
        guard isOneMount(file.place, directory.place) else { throw FileError(.move, path, errno: .crossDevice) }
    }
    let byteCount = try attempt(.open, path) { () throws(Errno) in try descriptor.status().byteCount }
    var pendingError: Errno?
    do throws(Errno) {
        try descriptor.synchronizeData()
    } catch {
        pendingError = error
    }
    do throws(Errno) {
        let file = try OpenFile(descriptor, path: path, scope: scope)
        return OpenedPartial(
            file: file, byteCount: byteCount, pendingError: pendingError, writtenEnd: file.writtenEnd)
    } catch {
        throw FileError(.open, path, errno: error)
    }
}

/// Inspects a partial without opening it for writing; another process may have its lock.
func describePartial(
    _ path: String, expected: FileIdentity, in scope: PathScope
) throws(FileError) -> PartialDescription {
    let descriptor = try openOurs(scope.file(path, for: .open), expected: expected, flags: O_RDONLY)
    let status = try attempt(.open, path) { () throws(Errno) in try descriptor.status() }
    return PartialDescription(byteCount: status.byteCount, birthNanoseconds: descriptor.birthNanoseconds())
}

/// Opens a regular file of ours; links are not followed.
private func openOurs(_ file: FilePlace, expected: FileIdentity?, flags: Int32) throws(FileError) -> FileDescriptor {
    let path = file.path
    // Checked before it is opened: opening a device may have effects.
    let found = try attempt(.open, path) { () throws(Errno) in try FileStatus(file.place) }
    guard found.isOurs, expected?.matchesAcrossMounts(found.identity) ?? true else {
        throw FileError(.open, path, .replaced)
    }
    do throws(Errno) {
        // O_NONBLOCK: a FIFO that has replaced the file must not block us.
        let descriptor = try FileDescriptor(open: file.place, flags: flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
        let status = try descriptor.status()
        if status.isOurs, status.identity == found.identity { return descriptor }
    } catch {
        if ![.loop, .isDirectory, .noDeviceOrAddress].contains(error) { throw FileError(.open, path, errno: error) }
    }
    throw FileError(.open, path, .replaced)
}

/// Locks a partial against other processes; false when one of them has locked it.
///
/// Where the file system has no locks (NFS without its lock service) this counts as locked.
func lockAlone(_ descriptor: borrowing FileDescriptor) throws(Errno) -> Bool {
    do throws(Errno) {
        return try descriptor.lock(.exclusive)
    } catch {
        if [.noLocks, .notSupported, .notImplemented, .invalidArgument].contains(error) { return true }
        throw error
    }
}

/// Renames an open partial to the first free one of some names, and returns that name.
func movePartial(_ file: OpenFile, to candidates: [String]) throws(FileError) -> String {
    let old = try file.scope.file(file.path, for: .move)
    guard try Occupant(at: old).isFile(file.identity) else { throw FileError(.move, file.path, .replaced) }
    for candidate in candidates {
        let new = try file.scope.file(candidate, for: .move)
        do throws(Errno) {
            try ExclusiveRename.system.run(old.place, to: new.place)
            if let handle = try? file.handleEvenIfPoisoned(for: .move) { file.noteTouched(handle) }
            return candidate
        } catch {
            if error != .exists { throw FileError(.move, candidate, errno: error) }
        }
    }
    throw FileError(.move, file.path, .exists)
}

extension FileStatus {
    /// True for a regular file of ours with only this name.
    fileprivate var isOurs: Bool { kind == .regular && linkCount == 1 && userID == geteuid() }
}

/// Removes a name if it is still that file's.
///
/// - Parameter byteCount: the length that a finished file must also have; nil for a partial, which is also identified
///   by its name and may be from another boot.
func removeFile(
    _ path: String, identity: FileIdentity, byteCount: Int64?, in scope: PathScope
) throws(FileError) -> Removal {
    do throws(FileError) {
        return try removeFile(scope.file(path, for: .remove), identity: identity, byteCount: byteCount)
    } catch {
        if error.errno == .noEntry { return .wasAbsent }
        throw error
    }
}

private func removeFile(
    _ file: FilePlace, identity: FileIdentity, byteCount: Int64?
) throws(FileError) -> Removal {
    try attempt(.remove, file.path) { () throws(Errno) in
        let status = try FileStatus(file.place)
        guard status.kind == .regular, identity.matchesAcrossMounts(status.identity) else { return .stranger }
        if let byteCount, status.byteCount != byteCount { return .stranger }
        try Platform.removeFile(file.place)
        return .removed
    }
}

/// Removes a file that could not be filled, and returns the reason.
private func abandon(_ file: OpenFile, _ error: FileError) -> FileError {
    // A file without a name disappears when it is closed.
    if !file.isNamed { return error }
    // If the removal fails too, its error would hide the one that counts.
    _ = try? removeFile(file.path, identity: file.identity, byteCount: nil, in: file.scope)
    return error
}
