internal import Core
internal import Glibc
internal import Platform

/// Creates the file of a partial, which only we can read and write.
///
/// Where this is known to work the file has no name at first: a process that is killed before the record is committed
/// leaves nothing behind. Elsewhere it has its name at once, and such a kill leaves an empty file.
///
/// - Parameter replacesOrphan: the record was created by an earlier process, which may have left such a file.
func makeFile(_ path: String, replacesOrphan: Bool, in scope: PathScope) throws(FileError) -> OpenFile {
    let file = try scope.file(path, for: .create)
    if replacesOrphan { try attempt(.create, path) { () throws(Errno) in try removeOrphan(file.place) } }
    if let file = try makeUnnamedFile(file, scope) { return file }
    return try makeNamedFile(file, scope)
}

/// A file without a name; nil when the file system cannot create one or is not known to do it reliably.
private func makeUnnamedFile(_ file: FilePlace, _ scope: PathScope) throws(FileError) -> OpenFile? {
    // A taken name is reported now, although the file is named later. Other problems show when the file is created with
    // a name.
    guard let occupant = try? Occupant(at: file) else { return nil }
    if occupant != .nothing { throw FileError(.create, file.path, .exists) }
    guard isProcessDirectoryThere else { return nil }
    return try attempt(.create, file.path) { () throws(Errno) -> OpenFile? in
        guard let descriptor = try? FileDescriptor(unnamedIn: file.place.parent, mode: 0o600),
            isTrustedWithUnnamedFiles(descriptor.fileSystemMagic())
        else { return nil }
        _ = try lockAlone(descriptor)
        return try OpenFile(descriptor, path: file.path, isNamed: false, scope: scope)
    }
}

/// Needed to give an unnamed file its name.
private let isProcessDirectoryThere = (try? FileStatus(path: "/proc/self/fd")) != nil

/// File systems that support unnamed files, can name them later, and flush the name with the next flush of the file's
/// data.
private func isTrustedWithUnnamedFiles(_ magic: Int64?) -> Bool {
    switch magic {
    case 0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010: true  // ext4, XFS, Btrfs, F2FS
    case 0x0102_1994, 0x794c_7630: true  // tmpfs, overlayfs
    default: false
    }
}

private func makeNamedFile(_ file: FilePlace, _ scope: PathScope) throws(FileError) -> OpenFile {
    let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW
    return try attempt(.create, file.path) { () throws(Errno) in
        for _ in 0..<8 {
            let descriptor = try FileDescriptor(open: file.place, flags: flags, mode: 0o600)
            do throws(Errno) {
                // The lock shows other processes that this is no orphan. One may have taken it for an orphan before we
                // locked it.
                let isLocked = try lockAlone(descriptor)
                let identity = try descriptor.status().identity
                guard isLocked, let named = try? FileStatus(file.place), named.identity == identity else { continue }
                return try OpenFile(descriptor, path: file.path, scope: scope)
            } catch {
                // We have just created it; without its identity no process can recognise it later.
                try? Platform.removeFile(file.place)
                throw error
            }
        }
        throw .exists
    }
}

/// Removes the file of a process that was killed after creating its partial and before recording it; nothing else.
///
/// Such a file is empty, regular, private, ours, has only this name, and nobody has locked it.
private func removeOrphan(_ place: Place) throws(Errno) {
    guard let found = try? FileStatus(place), found.isOrphan else { return }
    let flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
    guard let descriptor = try? FileDescriptor(open: place, flags: flags), try descriptor.lock(.exclusive) else {
        return
    }
    // While we have the lock, no other process of ours starts to use it.
    guard try descriptor.status() == found, try FileStatus(place) == found else { return }
    try removeFile(place)
}

extension FileStatus {
    fileprivate var isOrphan: Bool {
        kind == .regular && byteCount == 0 && linkCount == 1 && userID == geteuid() && mode & 0o7777 == 0o600
    }
}
