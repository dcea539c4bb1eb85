internal import Core
internal import Glibc
internal import Platform

/// A job of the sync lane.
enum SyncJob: Sendable {
    case job(TicketedJob)
    /// The second step of `publish`.
    case directory(of: PublishedFile, ticket: UInt64)
}

/// A volume's sync lane: flushes all pending files as one batch.
///
/// One syncfs(2) is cheapest for many small files, but it also writes everything else that is dirty on the volume: so
/// it is used only for large batches, and not for a while after a slow one.
struct SyncWorker: LaneWorker {
    /// Smaller batches are flushed file by file.
    static let fileSystemSyncMinimum = 32
    /// After a syncfs(2) that took longer, it is avoided for a while.
    static let slowNanoseconds: Int64 = 250_000_000
    static let avoidanceNanoseconds: Int64 = 30_000_000_000

    private struct Flush {
        var ticket: UInt64
        var file: OpenFile
        var handle: OpenFile.Handle
        /// No hole may be before this offset.
        var wholeByteCount: Int64 = 0
    }
    private let results: Mailbox<FileResult>
    private let scope: PathScope
    private var avoidFileSystemSyncUntil = Int64.min

    init(results: Mailbox<FileResult>, scope: PathScope) {
        self.results = results
        self.scope = scope
    }

    mutating func perform(_ jobs: [SyncJob]) {
        var flushes: [VolumeID: [Flush]] = [:]
        var directories: [String: [(PublishedFile, ticket: UInt64)]] = [:]
        for job in jobs {
            switch job {
            case .directory(let published, let ticket):
                directories[published.path.parentDirectory, default: []].append((published, ticket))
            case .job(let job):
                switch job.job {
                case .checkpoint(let file): enqueue(job.ticket, file, wholeByteCount: 0, in: &flushes)
                case .syncForFinish(let file, let byteCount):
                    enqueue(job.ticket, file, wholeByteCount: byteCount, in: &flushes)
                default:
                    results.send(job.performed())
                }
            }
        }
        // Directories first: they are quick, and each completes a download.
        for (directory, published) in directories { flush(directory, published) }
        for batch in flushes.values { flush(batch) }
    }

    // MARK: Data

    private func enqueue(
        _ ticket: UInt64, _ file: OpenFile, wholeByteCount: Int64, in flushes: inout [VolumeID: [Flush]]
    ) {
        do throws(FileError) {
            let handle = try file.handle(for: .synchronize)
            flushes[file.volume, default: []].append(
                Flush(ticket: ticket, file: file, handle: handle, wholeByteCount: wholeByteCount))
        } catch {
            results.send(FileResult(ticket: ticket, outcome: .failed(error)))
        }
    }

    private mutating func flush(_ batch: [Flush]) {
        let isFileSystemDurable = batch.count >= Self.fileSystemSyncMinimum && synchronizeFileSystem(batch[0].handle)
        if !isFileSystemDurable && batch.count > 1 {
            for flush in batch { flush.handle.descriptor.startWriteback() }
        }
        for flush in batch {
            let outcome = FileOutcome { () throws(FileError) in
                if let poison = flush.file.poison { throw poison }
                do throws(Errno) {
                    try Self.flush(flush.handle, isFileSystemDurable: isFileSystemDurable)
                } catch {
                    // The kernel reports lost pages once; the next flush would succeed and prove nothing.
                    throw flush.file.losePages(FileError(.synchronize, flush.file.path, errno: error))
                }
                // Only after the flush does ext4 distinguish reserved space from written bytes.
                try flush.file.checkNoHole(flush.handle, before: flush.wholeByteCount)
                return .synchronized
            }
            results.send(FileResult(ticket: flush.ticket, outcome: outcome))
        }
    }

    private static func flush(_ handle: OpenFile.Handle, isFileSystemDurable: Bool) throws(Errno) {
        guard isFileSystemDurable else { return try handle.descriptor.synchronizeData() }
        do throws(Errno) {
            try handle.descriptor.waitForWriteback()
        } catch {
            guard [.invalidArgument, .illegalSeek, .notImplemented].contains(error) else { throw error }
            try handle.descriptor.synchronizeData()
        }
    }

    /// True when everything written to the file's volume before the call is durable.
    private mutating func synchronizeFileSystem(_ handle: OpenFile.Handle) -> Bool {
        let start = monotonicNanoseconds()
        guard start >= avoidFileSystemSyncUntil, Self.isTrustedWithSyncfs(handle.descriptor.fileSystemMagic()) else {
            return false
        }
        do throws(Errno) {
            try handle.descriptor.synchronizeFileSystem()
        } catch {
            // Only a flush of each file shows whose pages were lost.
            return false
        }
        let end = monotonicNanoseconds()
        if end - start > Self.slowNanoseconds { avoidFileSystemSyncUntil = end + Self.avoidanceNanoseconds }
        return true
    }

    /// File systems whose syncfs(2) is as good as fsync(2) of each file; with most FUSE file systems it does nothing.
    private static func isTrustedWithSyncfs(_ magic: Int64?) -> Bool {
        switch magic {
        case 0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010: true  // ext4, XFS, Btrfs, F2FS
        case 0x0102_1994: true  // tmpfs
        default: false
        }
    }

    // MARK: Names

    private func flush(_ directory: String, _ published: [(PublishedFile, ticket: UInt64)]) {
        var failure: FileError?
        do throws(FileError) {
            let file = try scope.file(published[0].0.path, for: .synchronizeDirectory)
            try attempt(.synchronizeDirectory, directory) { () throws(Errno) in
                try Self.synchronizeDirectory(holding: file.place)
            }
        } catch {
            failure = error
        }
        for (file, ticket) in published {
            let outcome = failure.map(FileOutcome.failed) ?? .published(file)
            results.send(FileResult(ticket: ticket, outcome: outcome))
        }
    }

    private static func synchronizeDirectory(holding file: Place) throws(Errno) {
        do throws(Errno) {
            let directory = try FileDescriptor(open: file.parent, flags: O_RDONLY | O_DIRECTORY)
            try directory.synchronize()
        } catch {
            switch error {
            case .accessDenied:
                // A directory may be writable but not readable.
                let descriptor = try FileDescriptor(open: file, flags: O_RDONLY | O_NOFOLLOW)
                try descriptor.synchronizeFileSystem()
            case .invalidArgument, .notSupported, .notImplemented:
                // Some network and FUSE file systems cannot flush a directory and need not.
                return
            default:
                throw error
            }
        }
    }
}
