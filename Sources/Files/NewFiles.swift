internal import Core
internal import Glibc
internal import Platform

/// Makes the file of a partial, for reading and writing by us alone.
///
/// Where that is known to work it has no name at first: a process that is killed before the record knows of the file
/// leaves nothing behind. Elsewhere it has its name at once, and what such a kill leaves is an empty file.
///
/// - Parameter replacesOrphan: the record was made by an earlier process, which may have left one.
func makeFile(_ path: String, replacesOrphan: Bool, in scope: PathScope) throws(FileError) -> OpenFile {
    let file = try scope.file(path, for: .create)
    if replacesOrphan { try attempt(.create, path) { () throws(Errno) in try removeOrphan(file.place) } }
    if let file = try makeUnnamedFile(file, scope) { return file }
    return try makeNamedFile(file, scope)
}

/// A file that is still to get its name; nil where the file system cannot, or where it is better not to rely on it.
private func makeUnnamedFile(_ file: FilePlace, _ scope: PathScope) throws(FileError) -> OpenFile? {
    // The name is given later: that it is taken is told now. Any other trouble with it the usual way will tell.
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

/// Names are given by way of it.
private let isProcessDirectoryThere = (try? FileStatus(path: "/proc/self/fd")) != nil

/// File systems that make unnamed files, name them later, and flush the name with the file's next data.
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
                // The lock tells others that it is no orphan. One of them may have taken it for one before it was ours.
                let isLocked = try lockAlone(descriptor)
                let identity = try descriptor.status().identity
                guard isLocked, let named = try? FileStatus(file.place), named.identity == identity else { continue }
                return try OpenFile(descriptor, path: file.path, scope: scope)
            } catch {
                // Made by us a moment ago; nobody will know it again without its identity.
                try? Platform.removeFile(file.place)
                throw error
            }
        }
        throw .exists
    }
}

/// Removes what a process left that was killed between making its partial and recording it; nothing else.
///
/// That is an empty plain file of ours, private, with this one name, which nobody has locked.
private func removeOrphan(_ place: Place) throws(Errno) {
    guard let found = try? FileStatus(place), found.isOrphan else { return }
    let flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
    guard let descriptor = try? FileDescriptor(open: place, flags: flags), try descriptor.lock(.exclusive) else {
        return
    }
    // Under the lock nobody of ours begins to use it.
    guard try descriptor.status() == found, try FileStatus(place) == found else { return }
    try removeFile(place)
}

extension FileStatus {
    fileprivate var isOrphan: Bool {
        kind == .regular && byteCount == 0 && linkCount == 1 && userID == geteuid() && mode & 0o7777 == 0o600
    }
}
