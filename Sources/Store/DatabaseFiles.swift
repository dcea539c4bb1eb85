internal import Glibc
internal import Platform

/// The files that an open database consists of, to notice when somebody takes or cuts them.  Isolation: the store thread.
///
/// SQLite keeps its descriptors: to it a database that was deleted is as good as ever, and what it commits is lost.
struct DatabaseFiles {
    /// What is wrong with them.
    enum Trouble: Equatable {
        /// One of them is gone, another's or cut: what is committed now would be lost, or others take us for dead.
        case gone(path: String)
        /// The index of the log is gone or was cut: it can be made anew from the log.
        case indexLost
    }

    private let path: String
    /// Those that stay the same for as long as we live.
    private let known: [(path: String, identity: FileIdentity)]
    private var index: FileIdentity?

    private var indexPath: String { path + "-shm" }
    private var logPath: String { path + "-wal" }

    /// Looks at the files of a database that has been opened and used.
    ///
    /// - Parameter others: files beside it that must stay as well.
    init(path: String, others: [String]) {
        self.path = path
        known = ([path, path + "-wal"] + others).compactMap { path in
            Self.identity(path).map { (path: path, identity: $0) }
        }
        index = Self.identity(path + "-shm")
    }

    /// - Parameters:
    ///   - indexByteCount: how long the index must be.
    ///   - logByteCount: how long the log must be, asked for anew where it seems to be cut.
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
        // Another process may have begun the log anew and shortened it meanwhile.
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

    /// A look that fails for another reason tells nothing.
    private static func isAnother(_ path: String, than known: FileIdentity) -> Bool {
        do throws(Errno) {
            return try FileStatus(path: path).identity != known
        } catch {
            return error == .noEntry || error == .notDirectory
        }
    }

    /// Where the index says whether it can be used, and the lock of whoever writes to the log (sqlite.org/walformat.html).
    private static let indexHeaderByteCount = 96
    private static let writeLockOffset: Int64 = 120

    /// Lets whoever looks at the index next make it anew: a part of it that was cut may be missed by nobody.
    ///
    /// No connection of this process may be open: closing the file drops its locks. Nobody writes meanwhile.
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
