internal import Platform

/// What of a file's status may be believed, by the kind of file system.
struct FileSystemTrust {
    /// Times change with our own operations and those of others, and with nothing else.
    let keepsTimes: Bool
    /// Bytes that were written, zeros too, are never told as a hole.
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

/// Whether a partial still is as our own operations left it: somebody may cut it, punch holes into it or write to it.
///
/// All that changes the file runs on one lane, so that between two of our operations its status stands still unless somebody
/// else has a hand in it. Not noticed is what happens in the same few milliseconds as an operation of ours (the kernel's
/// clock for files ticks no faster) and leaves neither a hole nor another length; and writes to the disk below the file.
extension OpenFile {
    /// Notes how an operation of ours has left the file.
    func noteTouched(_ handle: Handle) {
        guard leftStatus != nil else { return }
        // Without a status nothing can be compared.
        leftStatus = try? handle.descriptor.status()
    }

    /// From here on operations of others are not told from ours: the file gets its name and mode.
    func stopWatching(_ handle: Handle) {
        leftStatus = nil
        if let status = try? handle.descriptor.status() { noteFinished(status.modifiedNanoseconds) }
    }

    /// Fails with `.altered` when the file's bytes may have changed since an operation of ours.
    func checkUntouched(_ handle: Handle, for operation: FileError.Operation) throws(FileError) {
        guard let left = leftStatus, let status = try? handle.descriptor.status(),
            status.changedNanoseconds != left.changedNanoseconds
        else { return }
        let isOnlyAbout =
            status.modifiedNanoseconds == left.modifiedNanoseconds && status.byteCount == left.byteCount
            && (status.linkCount != left.linkCount || status.userID != left.userID || status.mode != left.mode
                || (isNamed && !isAtItsPlace))
        // Another name, owner or mode; who set the time of the bytes back has not done it for nothing.
        guard isOnlyAbout else { throw FileError(operation, path, .altered) }
        leftStatus = status
    }

    private var isAtItsPlace: Bool {
        guard let place = try? scope.file(path, for: .verify) else { return false }
        return (try? Occupant(at: place).isFile(identity)) == true
    }

    /// Fails with `.altered` when the file is not as an operation of ours left it, or shorter than that.
    func checkLength(_ handle: Handle, byteCount: Int64) throws(FileError) {
        try checkUntouched(handle, for: .verify)
        if let status = try? handle.descriptor.status(), status.byteCount < byteCount {
            throw FileError(.verify, path, .altered)
        }
    }

    /// Fails with `.altered` when bytes before that length are a hole: one that was made while the file was not open too.
    func checkNoHole(_ handle: Handle, before byteCount: Int64) throws(FileError) {
        guard byteCount > 0, let end = handle.writtenEnd(fileSystem), end < byteCount else { return }
        throw poison(FileError(.verify, path, .altered))
    }

    /// Where the first hole is, or the end of the file; nil where the file system does not say.
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
