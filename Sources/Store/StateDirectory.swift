internal import Glibc
package import Platform

/// The directory that the processes of one application share, and this process's locks in it.  Isolation: any thread.
///
/// It contains `towline.db`, which only SQLite opens (closing a descriptor of ours would drop SQLite's POSIX locks),
/// `state.lock`, on which every running process has a shared lock, and `sessions/`. A process that migrates the
/// database or moves it aside has an exclusive lock.
package final class StateDirectory: Sendable {
    /// Absolute.
    package let path: String
    /// True if no other process was running when this one started; until `share` it keeps others out.
    package let isSole: Bool
    /// Things that were in place of our files: their new paths.
    let strangers: [String]
    private let lock: FileDescriptor

    package var databasePath: String { path + "/towline.db" }
    package var lockPath: String { path + "/state.lock" }
    package var sessionsPath: String { path + "/sessions" }
    /// For resume data, if there is no place for a key of the user.
    var resumeKeyPath: String { path + "/resume.key" }
    /// Exists once a damaged page was found: the next process that is alone checks the whole database.
    package var checkRequestPath: String { path + "/check.requested" }

    /// Creates the directory if needed, and locks it.
    ///
    /// - Parameters:
    ///   - allowsNetworkFileSystem: accept the risk that locks do not work.
    ///   - lockLimitMilliseconds: how long to wait for a process that migrates.
    ///   - fileSystemMagic: returns the magic number of the file system of an existing directory.
    package init(
        path: String,
        allowsNetworkFileSystem: Bool = false,
        lockLimitMilliseconds: Int64 = 10_000,
        fileSystemMagic: (String) -> Int64? = StateDirectory.fileSystemMagic
    ) throws(StateDirectoryError) {
        if !allowsNetworkFileSystem, let magic = fileSystemMagic(Self.nearestExisting(path)),
            let kind = NetworkFileSystem(magic: magic)
        {
            throw StateDirectoryError(
                .networkFileSystem,
                path: path,
                "the state directory \(path) is on a network or user-space file system (\(kind)), where locks may not "
                    + "work; use --state-dir to name a local one, or --allow-network-state"
            )
        }
        var strangers: [String] = []
        let lock = try Self.openLock(path, &strangers)
        do throws(Errno) {
            isSole = try lock.lock(.exclusive)
            if !isSole, try !Self.lockShared(lock, lockLimitMilliseconds) { throw .wouldBlock }
        } catch {
            if error == .wouldBlock {
                let message = "another process is changing the state directory \(path); try again when it has exited"
                throw StateDirectoryError(.inUse, path: path, message)
            }
            throw StateDirectoryError(path: path, doing: "lock the state directory", error)
        }
        do throws(Errno) {
            let sessions = path + "/sessions"
            if let status = try? FileStatus(path: sessions), status.kind != .directory {
                // A link to a directory would be followed.
                guard isSole else { throw .notDirectory }
                strangers.append(try PathRepair.setAside(sessions))
            }
            try makeDirectory(sessions, mode: 0o700)
        } catch {
            throw StateDirectoryError(path: path, doing: "create or use the state directory", error)
        }
        self.path = path
        self.lock = lock
        self.strangers = strangers
    }

    /// Lets other processes in; the change from exclusive to shared is atomic.
    package func share() throws(Errno) {
        _ = try lock.lock(.shared)
    }

    func readLock(count: Int) throws(Errno) -> [UInt8] {
        try lock.read(count: count, at: 0)
    }

    func writeLock(_ bytes: [UInt8]) throws(Errno) {
        // Safety: the span lives for the call, which only reads it; bytes have no padding.
        try unsafe lock.write(bytes.span.bytes, at: 0)
    }

    /// The magic number of the file system that the path is on; nil if it is unknown.
    package static func fileSystemMagic(_ path: String) -> Int64? {
        guard let directory = try? FileDescriptor(open: path, flags: O_RDONLY | O_DIRECTORY) else { return nil }
        return directory.fileSystemMagic()
    }

    private static func openLock(
        _ path: String, _ strangers: inout [String]
    ) throws(StateDirectoryError) -> FileDescriptor {
        do throws(Errno) {
            try makeDirectories(path, mode: 0o700)
        } catch {
            throw StateDirectoryError(path: path, making: error)
        }
        try StateOwnership.check(path)
        do throws(Errno) {
            let lockPath = path + "/state.lock"
            // If it is not a plain file, no running process can have a lock on it.
            if let target = try PathRepair.setAsideUnlessRegular(lockPath) { strangers.append(target) }
            return try FileDescriptor(open: lockPath, flags: O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, mode: 0o600)
        } catch {
            throw StateDirectoryError(path: path, making: error)
        }
    }

    private static func lockShared(_ lock: borrowing FileDescriptor, _ limitMilliseconds: Int64) throws(Errno) -> Bool {
        let start = monotonicNanoseconds()
        while try !lock.lock(.shared) {
            if monotonicNanoseconds() - start >= limitMilliseconds * 1_000_000 { return false }
            usleep(2_000)
        }
        return true
    }

    private static func nearestExisting(_ path: String) -> String {
        var path = path
        while (try? FileStatus(following: path)) == nil {
            guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")), slash > path.utf8.startIndex else {
                return "/"
            }
            path = String(path[..<slash])
        }
        return path
    }
}
