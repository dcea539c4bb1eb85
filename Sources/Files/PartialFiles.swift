internal import Glibc
internal import Platform

/// Makes a partial, and reserves room for it where the file system can.
func createPartial(_ path: String, expectedByteCount: Int64?) throws(FileError) -> OpenedPartial {
    let file = try createFile(path)
    guard let expectedByteCount, expectedByteCount > 0 else { return OpenedPartial(file: file, byteCount: 0) }
    let handle = try file.handle(for: .reserve)
    do throws(Errno) {
        try handle.descriptor.preallocate(byteCount: expectedByteCount)
        return OpenedPartial(file: file, byteCount: expectedByteCount)
    } catch {
        // A file system that cannot reserve lets the file grow as it comes.
        if [.notSupported, .notImplemented, .invalidArgument].contains(error) {
            return OpenedPartial(file: file, byteCount: 0)
        }
        throw abandon(file, FileError(.reserve, path, errno: error))
    }
}

/// Makes a partial with all its bytes, not yet durable.
func createPartial(_ path: String, holding buffer: IOBuffer) throws(FileError) -> OpenedPartial {
    let file = try createFile(path)
    do throws(FileError) {
        _ = try file.write(buffer, at: 0, mark: nil)
        return OpenedPartial(file: file, byteCount: Int64(buffer.count))
    } catch {
        throw abandon(file, error)
    }
}

/// Opens a partial that was made before, unless something else stands there now.
func openPartial(_ path: String, expected: FileIdentity?) throws(FileError) -> OpenedPartial {
    // Looked at before it is opened: opening a device may have effects.
    let found = try attempt(.open, path) { () throws(Errno) in try FileStatus(path: path) }
    guard found.isOurs(expected) else { throw FileError(.open, path, .replaced) }
    do throws(Errno) {
        // O_NONBLOCK, so that a FIFO put there since does not hold us for ever.
        let flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
        let descriptor = try FileDescriptor(open: path, flags: flags)
        let status = try descriptor.status()
        if status.isOurs(found.identity) {
            var pendingError: Errno?
            do throws(Errno) {
                try descriptor.synchronizeData()
            } catch {
                pendingError = error
            }
            let file = try OpenFile(descriptor, path: path)
            return OpenedPartial(file: file, byteCount: status.byteCount, pendingError: pendingError)
        }
    } catch {
        if ![.loop, .isDirectory, .noDeviceOrAddress].contains(error) { throw FileError(.open, path, errno: error) }
    }
    throw FileError(.open, path, .replaced)
}

extension FileStatus {
    /// True for a plain file of ours with this one name, and this identity unless that is nil.
    fileprivate func isOurs(_ expected: FileIdentity?) -> Bool {
        kind == .regular && linkCount == 1 && userID == geteuid() && (expected == nil || identity == expected)
    }
}

/// Removes a name if it still is that file's.
///
/// - Parameter byteCount: the length that the file must have besides; nil takes any.
func removeFile(_ path: String, identity: FileIdentity, byteCount: Int64?) throws(FileError) -> Removal {
    do throws(Errno) {
        let status = try FileStatus(path: path)
        if status.identity != identity || status.kind != .regular { return .stranger }
        if let byteCount, status.byteCount != byteCount { return .stranger }
        try Platform.removeFile(path)
        return .removed
    } catch {
        if error == .noEntry { return .wasAbsent }
        throw FileError(.remove, path, errno: error)
    }
}

private func createFile(_ path: String) throws(FileError) -> OpenFile {
    try attempt(.create, path) { () throws(Errno) in
        let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW
        return try OpenFile(try FileDescriptor(open: path, flags: flags, mode: 0o600), path: path)
    }
}

/// Takes back a file that could not be filled, and returns why it could not.
private func abandon(_ file: OpenFile, _ error: FileError) -> FileError {
    // A removal that fails too would only hide the error that counts.
    _ = try? removeFile(file.path, identity: file.identity, byteCount: nil)
    return error
}
