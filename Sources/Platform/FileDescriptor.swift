internal import CPlatform
internal import Glibc

/// The parts of fstat(2)'s result that we use.
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
    /// The space it uses on disk: reserved space after its end counts, holes do not.
    package var allocatedByteCount: Int64
    package var linkCount: UInt64
    package var userID: UInt32
    package var groupID: UInt32
    package var mode: UInt32
    /// When its bytes last changed, in nanoseconds since 1970.
    package var modifiedNanoseconds: Int64
    /// When anything of it last changed, its times included; no program can set it.
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

    /// Wraps around when a file system reports an invalid time.
    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }

    /// The status of a path; a symbolic link is not followed.  C: lstat(2)
    package init(path: String) throws(Errno) {
        try self.init(Place(path: path))
    }

    /// The status of a place; a symbolic link is not followed.  C: fstatat(2)
    package init(_ place: Place) throws(Errno) {
        var status = stat()
        _ = try unsafe place.call { unsafe cplatform_lstat($0, $1, &status) }
        self.init(status)
    }

    /// The status of a path, links followed.  C: stat(2)
    package init(following path: String) throws(Errno) {
        try self.init(following: Place(path: path))
    }

    /// The status of a place; a link at its name is followed.  C: fstatat(2)
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

/// Identifies a file whatever its name: device and inode.
package struct FileIdentity: Equatable, Hashable, Sendable {
    package var device: UInt64
    package var inode: UInt64

    package init(device: UInt64, inode: UInt64) {
        self.device = device
        self.inode = inode
    }

    /// True when both may be the same file, one of them seen before a restart of the machine.
    ///
    /// Device numbers last only as long as a mount: after a boot, or when a disk is plugged in again, they may change.
    package func matchesAcrossMounts(_ other: FileIdentity) -> Bool { inode == other.inode }
}

/// The free space of a file system.
package struct FileSystemRoom: Equatable, Sendable {
    /// The space that an unprivileged process may use.
    package var availableByteCount: Int64
    package var totalByteCount: Int64
    /// False when no further file can be created, whatever the free space.
    package var hasFreeInodes: Bool
}

/// An owned file descriptor, closed when it is destroyed.  Isolation: calls are as thread-safe as the kernel's.
package struct FileDescriptor: ~Copyable, Sendable {
    package let raw: Int32

    /// Takes ownership of an open descriptor.
    package init(owning raw: Int32) {
        self.raw = raw
    }

    /// Opens a path; O_CLOEXEC is always set.  C: open(2)
    package init(open path: String, flags: Int32, mode: UInt32 = 0o600) throws(Errno) {
        try self.init(open: Place(path: path), flags: flags, mode: mode)
    }

    /// Opens a place; O_CLOEXEC is always set.  C: openat(2)
    package init(open place: Place, flags: Int32, mode: UInt32 = 0o600) throws(Errno) {
        raw = try unsafe place.call { unsafe cplatform_open($0, $1, flags | O_CLOEXEC, mode) }
    }

    /// Creates a file without a name, which disappears when its last descriptor is closed.  C: openat(2), O_TMPFILE
    package init(unnamedIn directory: Place, mode: UInt32) throws(Errno) {
        raw = try unsafe directory.call { unsafe cplatform_open_unnamed($0, $1, mode) }
    }

    deinit { _ = Glibc.close(raw) }

    /// Closes the descriptor and reports errors that the kernel reports only then (NFS, quota).  C: close(2)
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
        // Safety: the pointer is used only during the call.
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
            // Safety: the buffer outlives the call, and the size is its own.
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

    /// Makes everything on the file system durable.  C: syncfs(2)
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

    /// Reserves space from offset 0 on without changing the file's length; `.notSupported` where the file system
    /// cannot.  C: fallocate(2)
    package borrowing func preallocate(byteCount: Int64) throws(Errno) {
        _ = try valueOrErrno { cplatform_preallocate(raw, byteCount) }
    }

    /// The offset of the first hole, or the file's length if there is none; nil when the kernel does not report holes.
    /// C: lseek(2), SEEK_HOLE
    package borrowing func firstHole() -> Int64? {
        let offset = cplatform_first_hole(raw)
        return offset < 0 ? nil : offset
    }

    /// Gives an unnamed file its first name; `.exists` if that is taken.  C: linkat(2)
    package borrowing func giveName(_ place: Place) throws(Errno) {
        let raw = raw
        _ = try unsafe place.call { unsafe cplatform_give_name(raw, $0, $1) }
    }

    package borrowing func setMode(_ mode: UInt32) throws(Errno) {
        _ = try valueOrErrno { fchmod(raw, mode) }
    }

    /// The kind of lock: many processes may share one, only one may have an exclusive one.
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

    /// Takes or releases the lock of the open file; false when another lock prevents it.  C: F_OFD_SETLK, fcntl(2)
    package borrowing func lock(_ kind: LockKind, wait: Bool = false) throws(Errno) -> Bool {
        let raw = raw
        return try Self.isLockHad { cplatform_lock(raw, kind.flag, wait) }
    }

    /// Takes or releases the lock of a byte range, as `lock(_:wait:)` does for the whole file; never waits.
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

    /// True while another open file description has a lock on it.  C: F_OFD_GETLK, fcntl(2)
    package borrowing func isLockedElsewhere() throws(Errno) -> Bool {
        let raw = raw
        return try valueOrErrno { cplatform_is_locked(raw) } == 1
    }

    /// The mount through which the file was opened; nil when the kernel does not report it.  C: statx(2)
    ///
    /// Unique within a boot since Linux 6.8; before, the number of an unmounted file system is reused.
    package borrowing func mountID() -> Int64? {
        let id = cplatform_mount_id(raw)
        return id < 0 ? nil : id
    }

    /// When the file was created, in nanoseconds since 1970; nil when the file system does not store it.  C: statx(2)
    ///
    /// Tells a file from an earlier one with the same inode number.
    package borrowing func birthNanoseconds() -> Int64? {
        let time = cplatform_birth_time(raw)
        return time < 0 ? nil : time
    }

    /// The file system's magic number, or nil.  C: fstatfs(2)
    package borrowing func fileSystemMagic() -> Int64? {
        let magic = cplatform_filesystem_magic(raw)
        return magic < 0 ? nil : magic
    }

    /// The free space of the file system; nil when it does not report it.  C: fstatvfs(3)
    package borrowing func room() -> FileSystemRoom? {
        var available: Int64 = 0
        var total: Int64 = 0
        var hasFreeInodes = false
        let code = unsafe cplatform_room(raw, &available, &total, &hasFreeInodes)
        // A FUSE file system without an answer reports 0 for everything.
        guard code == 0, total > 0 else { return nil }
        return FileSystemRoom(availableByteCount: available, totalByteCount: total, hasFreeInodes: hasFreeInodes)
    }
}
