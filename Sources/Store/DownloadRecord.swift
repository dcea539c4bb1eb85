package import Core
package import Platform

/// The finished file as it was left: what `remove` may delete, and what a crash after the rename is recognised by.
package struct FinishedFile: Equatable, Sendable {
    package var identity: FileIdentity
    package var byteCount: Int64

    package init(identity: FileIdentity, byteCount: Int64) {
        self.identity = identity
        self.byteCount = byteCount
    }
}

/// All that is kept on disk of one download.
///
/// Times are in milliseconds since 1970 UTC. The texts of options, headers, metadata and trail are their
/// writer's business.
package struct DownloadRecord: Equatable, Sendable {
    /// 1 to 64 bytes; names the download for ever.
    package let id: String
    /// The source as it was asked for, never a redirect's target.
    package var url: String
    /// What `start` asked for, absolute: a path, or a directory with or without a name in it.
    package var requestedPath: String?
    package var requestedDirectory: String?
    package var requestedFileName: String?
    /// The destination, absolute; nil until the file is named. Unique among downloads that are not final.
    package var path: String?
    package var partialPath: String?
    package var partial: FileIdentity?
    /// Partial files of versions that the server no longer has, which the client wants to keep; the oldest first.
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
    /// The session whose process works on it; nil when none does.
    package var owner: Int64?
    /// Nil until a response told.
    package var entity: Entity?
    /// Covered by a completed sync of the partial's data.
    package var durable: ByteRangeSet
    /// Marks of what is in the kernel's hands only, from a dead owner or kept at a pause; see `trustedRanges`.
    package var written: ProgressRecord?
    /// Where the owner keeps its marks, a hint for whoever looks for them.
    package var slotIndex: Int?
    package var attempt: Int64
    /// Failures in a row without a byte gained.
    package var failureCount: Int64
    package var transfer: TransferOrigin?
    /// False when a body that was cut off would have looked like one that ended; nil until a response told.
    package var isLengthVerified: Bool?
    package var retryAtMilliseconds: Int64?
    package var failure: DownloadFailure?
    package var createdAtMilliseconds: Int64
    package var updatedAtMilliseconds: Int64
    package var completedAtMilliseconds: Int64?
    /// Where the redirects ended, secrets taken out.
    package var finalURL: String?
    package var suggestedFileName: String?
    package var contentType: String?
    /// Bytes received in this attempt.
    package var transferredByteCount: Int64
    /// Bytes received and thrown away, over all attempts.
    package var wastedByteCount: Int64
    /// All bytes are there and right; the rename is next or was done.
    package var isFinalizing: Bool
    package var finished: FinishedFile?
    /// The place in the order of creation. The store sets it, and takes no notice of what others set; 0 before.
    package var sequence: Int64 = 0
    /// The database-wide revision of the last change. The store sets it as it does `sequence`.
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

    /// What tells one asked-for destination from another: the path where a name was given, else the directory with `/`.
    package var destinationKey: String {
        if let requestedPath { return requestedPath }
        let directory = (requestedDirectory ?? "") + "/"
        return directory + (requestedFileName ?? "")
    }

    /// The bytes that may be counted on: `written` and `durable` where the marks still hold, else `durable` alone.
    ///
    /// Counting `written` also needs one fdatasync of the partial that succeeds now.
    package func trustedRanges(bootID: String, mountID: Int64?, partial: FileIdentity) -> ByteRangeSet {
        guard let written, written.attempt == attempt, self.partial == nil || self.partial == partial,
            written.holds(bootID: bootID, mountID: mountID, partial: partial)
        else { return durable }
        return durable.union(written.written)
    }
}

/// Who works on a download, seen from this process.
package enum Ownership: Equatable, Sendable {
    /// This process.
    case own
    /// Nobody.
    case none
    /// A process that lives.
    case other
    /// A process that has died.
    case dead
}

/// A record as it reads now.
///
/// One that nobody alive works on reads as paused, `interrupted` unless the user paused it, whatever is stored. Its
/// `written` holds the marks of the owner's slot where they say more than the record.
package struct LoadedRecord: Equatable, Sendable {
    package var record: DownloadRecord
    package var ownership: Ownership
    /// Its living owner gives it up when another process asks.
    package var ownerYields: Bool

    package init(record: DownloadRecord, ownership: Ownership, ownerYields: Bool = false) {
        self.record = record
        self.ownership = ownership
        self.ownerYields = ownerYields
    }

    /// The process that owns it; nil for nobody's.
    package var ownerProcessID: Int64? { record.owner.map(SessionFile.processID(ofSession:)) }
}

extension DownloadRecord {
    /// Its paths, each with the directory that its name is looked up in.  Kept files nobody touches.
    package var places: [(path: String, directory: String)] {
        [path, partialPath, requestedPath].compactMap { $0 }.map { ($0, $0.parentDirectory) }
            + [requestedDirectory].compactMap { $0 }.map { ($0, $0) }
    }

    /// The first of its paths that lies outside as text; nil when none does.  Where links lead, the file workers tell.
    package func path(outside scope: PathScope) -> String? {
        places.first { !scope.contains($0.path) }?.path
    }
}
