internal import CPlatform
internal import Glibc

/// What fstat(2) says of a file, as far as we use it.
package struct FileStatus: Equatable, Sendable {
    package enum Kind: Sendable {
        case regular
        case directory
        case symbolicLink
        case other
    }
    package var kind: Kind
    package var identity: FileIdentity
    package var byteCount: Int64
    /// What it takes on the disk: room reserved beyond its end counts, holes do not.
    package var allocatedByteCount: Int64
    package var linkCount: UInt64
    package var userID: UInt32
    package var groupID: UInt32
    package var mode: UInt32
    /// When its bytes changed last, in nanoseconds since 1970.
    package var modifiedNanoseconds: Int64
    /// When anything of it changed last, its times included; nobody can set it.
    package var changedNanoseconds: Int64

    fileprivate init(_ status: stat) {
        kind =
            switch cplatform_file_kind(status.st_mode) {
            case 1: .regular
            case 2: .directory
            case 3: .symbolicLink
            default: .other
            }
        identity = FileIdentity(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
        byteCount = Int64(status.st_size)
        allocatedByteCount = Int64(status.st_blocks) * 512
        linkCount = UInt64(status.st_nlink)
        userID = status.st_uid
        groupID = status.st_gid
        mode = status.st_mode
        modifiedNanoseconds = Self.nanoseconds(status.st_mtim)
        changedNanoseconds = Self.nanoseconds(status.st_ctim)
    }

    /// Wraps where a file system tells a time that is no time.
    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }

    /// The status of what a path names, a symbolic link itself included.  C: lstat(2)
    package init(path: String) throws(Errno) {
        try self.init(Place(path: path))
    }

    /// The status of what stands at a place, a symbolic link itself included.  C: fstatat(2)
    package init(_ place: Place) throws(Errno) {
        var status = stat()
        _ = try unsafe place.call { unsafe cplatform_lstat($0, $1, &status) }
        self.init(status)
    }

    /// The status of what a path leads to, links followed.  C: stat(2)
    package init(following path: String) throws(Errno) {
        try self.init(following: Place(path: path))
    }

    /// The status of what a place leads to, a link at its name followed.  C: fstatat(2)
    package init(following place: Place) throws(Errno) {
        var status = stat()
        _ = try unsafe place.call { unsafe cplatform_stat($0, $1, &status) }
        self.init(status)
    }

    fileprivate init(descriptor: Int32) throws(Errno) {
        var status = stat()
        _ = try valueOrErrno { unsafe fstat(descriptor, &status) }
        self.init(status)
    }
}

/// Which file it is, whatever its name: device and inode.
package struct FileIdentity: Equatable, Hashable, Sendable {
    package var device: UInt64
    package var inode: UInt64

    package init(device: UInt64, inode: UInt64) {
        self.device = device
        self.inode = inode
    }

    /// True when both may be one file, of which one was looked at before a restart of the machine.
    ///
    /// Device numbers last as long as a mount: the next boot, or a disk plugged in again, may get another one.
    package func matchesAcrossMounts(_ other: FileIdentity) -> Bool { inode == other.inode }
}

/// The room that a file system has.
package struct FileSystemRoom: Equatable, Sendable {
    /// What an unprivileged process may still write.
    package var availableByteCount: Int64
    package var totalByteCount: Int64
    /// False when no further file can be made, whatever room there is.
    package var hasFreeInodes: Bool
}

/// An owned file descriptor, closed when it goes.  Isolation: calls are as thread-safe as the kernel's.
package struct FileDescriptor: ~Copyable, Sendable {
    package let raw: Int32

    /// Takes over a descriptor that somebody else opened.
    package init(owning raw: Int32) {
        self.raw = raw
    }

    /// Opens a path; O_CLOEXEC is always set.  C: open(2)
    package init(open path: String, flags: Int32, mode: UInt32 = 0o600) throws(Errno) {
        try self.init(open: Place(path: path), flags: flags, mode: mode)
    }

    /// Opens what stands at a place; O_CLOEXEC is always set.  C: openat(2)
    package init(open place: Place, flags: Int32, mode: UInt32 = 0o600) throws(Errno) {
        raw = try unsafe place.call { unsafe cplatform_open($0, $1, flags | O_CLOEXEC, mode) }
    }

    /// Makes a file that has no name yet and goes with its last descriptor.  C: openat(2), O_TMPFILE
    package init(unnamedIn directory: Place, mode: UInt32) throws(Errno) {
        raw = try unsafe directory.call { unsafe cplatform_open_unnamed($0, $1, mode) }
    }

    deinit { _ = Glibc.close(raw) }

    /// Closes and tells what the kernel says only then (NFS, quota).  C: close(2)
    package consuming func close() throws(Errno) {
        let code = Glibc.close(raw)
        let error = Errno.current
        discard self
        if code != 0 && error.code != EINTR { throw error }
    }

    package borrowing func status() throws(Errno) -> FileStatus {
        try FileStatus(descriptor: raw)
    }

    /// Writes all bytes at an offset, in as many calls as it takes.  C: pwrite(2)
    package borrowing func write(_ bytes: borrowing RawSpan, at offset: Int64) throws(Errno) {
        // Safety: the pointer lives for the call alone.
        let failure = unsafe bytes.withUnsafeBytes { buffer in unsafe writeAll(buffer, at: offset) }
        if let failure { throw failure }
    }

    private borrowing func writeAll(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> Errno? {
        var done = 0
        while done < bytes.count {
            let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[done...])
            let count = unsafe pwrite(raw, rest.baseAddress, rest.count, Int(offset) + done)
            if count < 0 {
                let error = Errno.current
                if error.code == EINTR { continue }
                return error
            }
            // A regular file never takes 0 bytes without an error; do not spin if one does.
            if count == 0 { return .inputOutput }
            done += count
        }
        return nil
    }

    /// Reads up to `count` bytes at an offset; fewer only at the end of the file.  C: pread(2)
    package borrowing func read(count: Int, at offset: Int64) throws(Errno) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var done = 0
        while done < count {
            // Safety: the buffer outlives the call and is as long as we say.
            let part = unsafe bytes.withUnsafeMutableBytes { buffer in
                unsafe pread(raw, buffer.baseAddress.map { unsafe $0 + done }, count - done, Int(offset) + done)
            }
            if part < 0 {
                let error = Errno.current
                if error.code == EINTR { continue }
                throw error
            }
            if part == 0 { break }
            done += part
        }
        bytes.removeLast(count - done)
        return bytes
    }

    /// Makes the file's bytes and length durable.  C: fdatasync(2)
    package borrowing func synchronizeData() throws(Errno) {
        _ = try valueOrErrno { fdatasync(raw) }
    }

    /// Makes a file or directory durable, metadata included.  C: fsync(2)
    package borrowing func synchronize() throws(Errno) {
        _ = try valueOrErrno { fsync(raw) }
    }

    /// Makes all that the file system holds durable.  C: syncfs(2)
    package borrowing func synchronizeFileSystem() throws(Errno) {
        _ = try valueOrErrno { cplatform_syncfs(raw) }
    }

    /// Starts write-out of the file's dirty pages and returns at once.  C: sync_file_range(2)
    package borrowing func startWriteback() {
        _ = cplatform_start_writeback(raw)
    }

    package borrowing func truncate(to byteCount: Int64) throws(Errno) {
        _ = try valueOrErrno { ftruncate(raw, Int(byteCount)) }
    }

    /// Reserves room from the file's first byte on and leaves its length alone; `.notSupported` where the file system
    /// cannot.  C: fallocate(2)
    package borrowing func preallocate(byteCount: Int64) throws(Errno) {
        _ = try valueOrErrno { cplatform_preallocate(raw, byteCount) }
    }

    /// The offset of the first byte that nobody has written, the file's length if there is none before it; nil where the
    /// kernel does not say.  C: lseek(2), SEEK_HOLE
    package borrowing func firstHole() -> Int64? {
        let offset = cplatform_first_hole(raw)
        return offset < 0 ? nil : offset
    }

    /// Gives a file that was made without a name its first; `.exists` if that is taken.  C: linkat(2)
    package borrowing func giveName(_ place: Place) throws(Errno) {
        let raw = raw
        _ = try unsafe place.call { unsafe cplatform_give_name(raw, $0, $1) }
    }

    package borrowing func setMode(_ mode: UInt32) throws(Errno) {
        _ = try valueOrErrno { fchmod(raw, mode) }
    }

    /// Which kind of lock: many may share, one alone may exclude.
    package enum LockKind: Sendable {
        case shared
        case exclusive
        case none

        fileprivate var flag: Int32 {
            switch self {
            case .shared: F_RDLCK
            case .exclusive: F_WRLCK
            case .none: F_UNLCK
            }
        }
    }

    /// Takes or gives up the open file's lock; false when somebody else's lock is in the way.  C: F_OFD_SETLK, fcntl(2)
    package borrowing func lock(_ kind: LockKind, wait: Bool = false) throws(Errno) -> Bool {
        let raw = raw
        return try Self.isLockHad { cplatform_lock(raw, kind.flag, wait) }
    }

    /// Takes or gives up the lock of some bytes, as `lock(_:wait:)` does that of all; never waits.
    package borrowing func lock(_ kind: LockKind, at offset: Int64, byteCount: Int64) throws(Errno) -> Bool {
        let raw = raw
        return try Self.isLockHad { cplatform_lock_range(raw, kind.flag, offset, byteCount) }
    }

    private static func isLockHad(_ body: () -> Int32) throws(Errno) -> Bool {
        do throws(Errno) {
            _ = try valueOrErrno(body)
            return true
        } catch {
            if error == .wouldBlock || error == .accessDenied { return false }
            throw error
        }
    }

    /// True while another open file description holds any lock on it.  C: F_OFD_GETLK, fcntl(2)
    package borrowing func isLockedElsewhere() throws(Errno) -> Bool {
        let raw = raw
        return try valueOrErrno { cplatform_is_locked(raw) } == 1
    }

    /// The mount that the file was opened through, or nil where the kernel does not say.  C: statx(2)
    ///
    /// From Linux 6.8 on no two mounts of a boot have the same; before, one that is gone leaves its number to the next.
    package borrowing func mountID() -> Int64? {
        let id = cplatform_mount_id(raw)
        return id < 0 ? nil : id
    }

    /// When the file was made, in nanoseconds since 1970, or nil where the file system does not keep it.  C: statx(2)
    ///
    /// Tells a file from an earlier one that had the same inode number.
    package borrowing func birthNanoseconds() -> Int64? {
        let time = cplatform_birth_time(raw)
        return time < 0 ? nil : time
    }

    /// The file system's magic number, or nil.  C: fstatfs(2)
    package borrowing func fileSystemMagic() -> Int64? {
        let magic = cplatform_filesystem_magic(raw)
        return magic < 0 ? nil : magic
    }

    /// What room the file system has left, or nil where it does not say.  C: fstatvfs(3)
    package borrowing func room() -> FileSystemRoom? {
        var available: Int64 = 0
        var total: Int64 = 0
        var hasFreeInodes = false
        let code = unsafe cplatform_room(raw, &available, &total, &hasFreeInodes)
        // FUSE without an answer of its own says zero of everything.
        guard code == 0, total > 0 else { return nil }
        return FileSystemRoom(availableByteCount: available, totalByteCount: total, hasFreeInodes: hasFreeInodes)
    }
}
