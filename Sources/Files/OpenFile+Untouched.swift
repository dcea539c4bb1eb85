internal import Platform

/// What can be trusted in a file's status, by file system type.
struct FileSystemTrust {
    /// Times change with operations on the file, ours or others', and with nothing else.
    let keepsTimes: Bool
    /// Written bytes, also zeros, are never reported as a hole.
    let keepsHoles: Bool

    init(magic: Int64?) {
        switch magic {
        case 0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0x794c_7630:  // ext4, XFS, Btrfs, tmpfs, overlayfs
            keepsTimes = true
            keepsHoles = true
        case 0xf2f5_2010:  // F2FS
            keepsTimes = true
            keepsHoles = false
        default:
            keepsTimes = false
            keepsHoles = false
        }
    }
}

/// Whether a partial is unchanged since our last operation: another program may truncate it, punch holes or write to
/// it.
///
/// All our operations on a file run on one lane, so between two of them its status changes only if another program
/// changes the file. Not detected: a change within the same few milliseconds as our operation (the kernel's file clock
/// is that coarse) that leaves no hole and the same length; and writes to the disk below the file system.
extension OpenFile {
    /// Notes the file's status after our operation.
    func noteTouched(_ handle: Handle) {
        guard leftStatus != nil else { return }
        // Without a status nothing can be compared.
        leftStatus = try? handle.descriptor.status()
    }

    /// Stops detecting changes by others: the file gets its final name and mode now.
    func stopWatching(_ handle: Handle) {
        leftStatus = nil
        if let status = try? handle.descriptor.status() { noteFinished(status.modifiedNanoseconds) }
    }

    /// Fails with `.altered` when the file's bytes may have changed since our last operation.
    func checkUntouched(_ handle: Handle, for operation: FileError.Operation) throws(FileError) {
        guard let left = leftStatus, let status = try? handle.descriptor.status(),
            status.changedNanoseconds != left.changedNanoseconds
        else { return }
        let isOnlyAbout =
            status.modifiedNanoseconds == left.modifiedNanoseconds && status.byteCount == left.byteCount
            && (status.linkCount != left.linkCount || status.userID != left.userID || status.mode != left.mode
                || (isNamed && !isAtItsPlace))
        // Another name, owner or mode. Anything else counts as a change, because the time of the bytes can be set back
        // on purpose.
        guard isOnlyAbout else { throw FileError(operation, path, .altered) }
        leftStatus = status
    }

    private var isAtItsPlace: Bool {
        guard let place = try? scope.file(path, for: .verify) else { return false }
        return (try? Occupant(at: place).isFile(identity)) == true
    }

    /// Fails with `.altered` when the file changed since our last operation, or is shorter than `byteCount`.
    func checkLength(_ handle: Handle, byteCount: Int64) throws(FileError) {
        try checkUntouched(handle, for: .verify)
        if let status = try? handle.descriptor.status(), status.byteCount < byteCount {
            throw FileError(.verify, path, .altered)
        }
    }

    /// Fails with `.altered` when there is a hole before that length, also one made while the file was not open.
    func checkNoHole(_ handle: Handle, before byteCount: Int64) throws(FileError) {
        guard byteCount > 0, let end = handle.writtenEnd(fileSystem), end < byteCount else { return }
        throw poison(FileError(.verify, path, .altered))
    }

    /// The offset of the first hole, or the end of the file; nil when the file system does not report holes.
    var writtenEnd: Int64? {
        guard let handle = try? handleEvenIfPoisoned(for: .verify) else { return nil }
        return handle.writtenEnd(fileSystem)
    }
}

extension OpenFile.Handle {
    fileprivate func writtenEnd(_ fileSystem: FileSystemTrust) -> Int64? {
        fileSystem.keepsHoles ? descriptor.firstHole() : nil
    }
}
