package import Core
package import Platform

/// The finished file: `remove` may delete this file only, and after a crash it shows that the rename was done.
package struct FinishedFile: Equatable, Sendable {
    package var identity: FileIdentity
    package var byteCount: Int64

    package init(identity: FileIdentity, byteCount: Int64) {
        self.identity = identity
        self.byteCount = byteCount
    }
}

/// Everything stored on disk about one download.
///
/// Times are in milliseconds since 1970 UTC. The store does not interpret the texts of options, headers, metadata and
/// trail.
package struct DownloadRecord: Equatable, Sendable {
    /// 1 to 64 bytes; never changes.
    package let id: String
    /// The URL as requested, never a redirect's target.
    package var url: String
    /// The destination as requested by `start`, absolute: a path, or a directory with or without a file name.
    package var requestedPath: String?
    package var requestedDirectory: String?
    package var requestedFileName: String?
    /// The destination, absolute; nil until the name is known. Unique among downloads that are not final.
    package var path: String?
    package var partialPath: String?
    package var partial: FileIdentity?
    /// Partial files of earlier versions of the server's file, which the client wants to keep; oldest first.
    package var keptPaths: [String] = []
    package var ifExists: IfExists
    package var checksum: Checksum?
    package var optionsText: String
    package var headersText: String
    package var metadataText: String?
    package var trailText: String?
    package var priority: Int64
    package var state: DownloadState
    package var reason: StateReason?
    package var intent: DownloadIntent
    /// The session whose process runs it; nil if none does.
    package var owner: Int64?
    /// Nil until a response was received.
    package var entity: Entity?
    /// Bytes that a completed sync of the partial covers.
    package var durable: ByteRangeSet
    /// Marks of bytes that may be only in the kernel's cache, of a dead owner or from a pause; see `trustedRanges`.
    package var written: ProgressRecord?
    /// The slot in which the owner stores its marks; only a hint.
    package var slotIndex: Int?
    package var attempt: Int64
    /// Consecutive failures with no byte received between them.
    package var failureCount: Int64
    package var transfer: TransferOrigin?
    /// False if a truncated body would look like a complete one; nil until a response was received.
    package var isLengthVerified: Bool?
    package var retryAtMilliseconds: Int64?
    package var failure: DownloadFailure?
    package var createdAtMilliseconds: Int64
    package var updatedAtMilliseconds: Int64
    package var completedAtMilliseconds: Int64?
    /// The URL after redirects, without secrets.
    package var finalURL: String?
    package var suggestedFileName: String?
    package var contentType: String?
    /// Bytes received in this attempt.
    package var transferredByteCount: Int64
    /// Bytes received and discarded, over all attempts.
    package var wastedByteCount: Int64
    /// All bytes are stored and correct; the rename is next or done.
    package var isFinalizing: Bool
    package var finished: FinishedFile?
    /// The position in order of creation. Set by the store, which ignores values of callers; 0 before.
    package var sequence: Int64 = 0
    /// The database-wide revision of the last change. Set by the store, like `sequence`.
    package var revision: Int64 = 0

    package init(
        id: String,
        url: String,
        state: DownloadState = .queued,
        reason: StateReason? = nil,
        intent: DownloadIntent = .run,
        createdAtMilliseconds: Int64
    ) {
        self.id = id
        self.url = url
        self.state = state
        self.reason = reason
        self.intent = intent
        self.createdAtMilliseconds = createdAtMilliseconds
        updatedAtMilliseconds = createdAtMilliseconds
        ifExists = .error
        optionsText = ""
        headersText = ""
        priority = 0
        durable = ByteRangeSet()
        attempt = 1
        failureCount = 0
        transferredByteCount = 0
        wastedByteCount = 0
        isFinalizing = false
    }

    /// Identifies a requested destination: the path if a name was given, else the directory with `/`.
    package var destinationKey: String {
        if let requestedPath { return requestedPath }
        let directory = (requestedDirectory ?? "") + "/"
        return directory + (requestedFileName ?? "")
    }

    /// The bytes that are certainly stored: `written` and `durable` if the marks are still valid, else `durable` alone.
    ///
    /// Before `written` may be used, one fdatasync of the partial must also succeed now.
    package func trustedRanges(bootID: String, mountID: Int64?, partial: FileIdentity) -> ByteRangeSet {
        guard let written, written.attempt == attempt, self.partial == nil || self.partial == partial,
            written.holds(bootID: bootID, mountID: mountID, partial: partial)
        else { return durable }
        return durable.union(written.written)
    }
}

/// Who runs a download, seen from this process.
package enum Ownership: Equatable, Sendable {
    /// This process.
    case own
    /// Nobody.
    case none
    /// A process that is running.
    case other
    /// A process that has exited.
    case dead
}

/// A record as it is shown now.
///
/// If no running process owns it, it is shown as paused, with reason `interrupted` unless the user paused it, whatever
/// is stored. Its `written` contains the marks of the owner's slot if they cover more than the record.
package struct LoadedRecord: Equatable, Sendable {
    package var record: DownloadRecord
    package var ownership: Ownership
    /// Its running owner releases it when another process asks.
    package var ownerYields: Bool

    package init(record: DownloadRecord, ownership: Ownership, ownerYields: Bool = false) {
        self.record = record
        self.ownership = ownership
        self.ownerYields = ownerYields
    }

    /// The process that owns it; nil if none does.
    package var ownerProcessID: Int64? { record.owner.map(SessionFile.processID(ofSession:)) }
}

extension DownloadRecord {
    /// Its paths, each with the directory in which its name is looked up.  Kept files are left out: they are never
    /// touched.
    package var places: [(path: String, directory: String)] {
        [path, partialPath, requestedPath].compactMap { $0 }.map { ($0, $0.parentDirectory) }
            + [requestedDirectory].compactMap { $0 }.map { ($0, $0) }
    }

    /// The first of its paths that is outside by its text; nil if none is.  Symbolic links are checked by the file
    /// workers.
    package func path(outside scope: PathScope) -> String? {
        places.first { !scope.contains($0.path) }?.path
    }
}
