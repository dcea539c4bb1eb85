internal import Glibc
internal import Platform

/// The files of an open database, to notice when another program deletes, replaces or truncates them.  Isolation: the
/// store thread.
///
/// SQLite keeps its descriptors: it does not notice that its database was deleted, and everything it commits is lost.
struct DatabaseFiles {
    /// A problem with the files.
    enum Trouble: Equatable {
        /// A file is deleted, replaced or truncated: commits would be lost, or other processes would take this one for
        /// exited.
        case gone(path: String)
        /// The index of the log is deleted or truncated: it can be built again from the log.
        case indexLost
    }

    private let path: String
    /// Files that do not change while the process runs.
    private let known: [(path: String, identity: FileIdentity)]
    private var index: FileIdentity?

    private var indexPath: String { path + "-shm" }
    private var logPath: String { path + "-wal" }

    /// Notes the files of a database that has been opened and used.
    ///
    /// - Parameter others: files in the directory that must not change either.
    init(path: String, others: [String]) {
        self.path = path
        known = ([path, path + "-wal"] + others).compactMap { path in
            Self.identity(path).map { (path: path, identity: $0) }
        }
        index = Self.identity(path + "-shm")
    }

    /// - Parameters:
    ///   - indexByteCount: the minimum length of the index.
    ///   - logByteCount: the minimum length of the log; called a second time if the log seems to be truncated.
    func trouble(indexByteCount: Int64, logByteCount: () -> Int64) -> Trouble? {
        for (path, identity) in known where Self.isAnother(path, than: identity) { return .gone(path: path) }
        if let index {
            do throws(Errno) {
                let found = try FileStatus(path: indexPath)
                if found.identity != index || found.byteCount < indexByteCount { return .indexLost }
            } catch {
                if error == .noEntry { return .indexLost }
            }
        }
        let needed = logByteCount()
        // Another process may have restarted the log and shortened it meanwhile.
        if needed > 0, let log = try? FileStatus(path: logPath), log.byteCount < needed, logByteCount() == needed {
            return .gone(path: logPath)
        }
        return nil
    }

    /// Notes the index that the database uses from now on.
    mutating func noteIndex() {
        index = Self.identity(indexPath)
    }

    private static func identity(_ path: String) -> FileIdentity? {
        (try? FileStatus(path: path))?.identity
    }

    /// If the status cannot be read for another reason, nothing is known.
    private static func isAnother(_ path: String, than known: FileIdentity) -> Bool {
        do throws(Errno) {
            return try FileStatus(path: path).identity != known
        } catch {
            return error == .noEntry || error == .notDirectory
        }
    }

    /// Offsets of the header that makes the index valid, and of the lock for writing to the log
    /// (sqlite.org/walformat.html).
    private static let indexHeaderByteCount = 96
    private static let writeLockOffset: Int64 = 120

    /// Makes the next reader of the index build it again, because not every process notices a truncated part.
    ///
    /// No connection of this process may be open, because closing the file drops its locks. Nobody may write meanwhile.
    func invalidateIndex(limitMilliseconds: Int32) throws(StoreError) {
        guard let file = try? FileDescriptor(open: indexPath, flags: O_RDWR | O_NOFOLLOW | O_NONBLOCK) else { return }
        let end = monotonicNanoseconds() + Int64(limitMilliseconds) * 1_000_000
        do throws(Errno) {
            while try !file.lock(.exclusive, at: Self.writeLockOffset, byteCount: 1) {
                guard monotonicNanoseconds() < end else { throw .wouldBlock }
                usleep(1_000)
            }
            // Safety: the span lives for the call, which only reads it; bytes have no padding.
            try unsafe file.write([UInt8](repeating: 0, count: Self.indexHeaderByteCount).span.bytes, at: 0)
        } catch {
            throw .indexLost
        }
    }
}
