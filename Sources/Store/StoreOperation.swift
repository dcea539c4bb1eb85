package import Core

/// A download that `start` requests.
package struct StartCandidate: Sendable {
    /// The record to insert if nothing prevents it; its owner becomes this session.
    package var record: DownloadRecord
    /// False if the id was generated: then a download of the same URL to the same destination is looked for.
    package var isIDGiven: Bool
    /// False to only look for it: `.absent` if it would have been inserted.
    package var mayInsert = true
    /// The URL with its userinfo, as in records of earlier versions.
    package var givenURL: String

    package init(record: DownloadRecord, isIDGiven: Bool, givenURL: String? = nil) {
        self.record = record
        self.isIDGiven = isIDGiven
        self.givenURL = givenURL ?? record.url
    }
}

/// How a `start` differs from the download that it names.
package enum StartDifference: String, Equatable, Sendable, CaseIterable {
    case url
    case destination
    case checksum
    case ifExists
}

/// Which downloads without a running owner to take over, by their shown state.
package struct AdoptionFilter: Equatable, Sendable {
    package var states: Set<DownloadState>
    /// Nil for any reason; states without a reason always pass.
    package var reasons: Set<StateReason>?
    /// Leaves out downloads that nobody owns.
    package var onlyOfDead = false
    /// Directories that were checked, and whether files may be there.
    package var knownDirectories: [String: Bool] = [:]

    package init(states: Set<DownloadState>, reasons: Set<StateReason>? = nil, onlyOfDead: Bool = false) {
        self.states = states
        self.reasons = reasons
        self.onlyOfDead = onlyOfDead
    }

    /// Downloads that a crash or an exit interrupted.
    package static let interrupted = AdoptionFilter(states: [.paused], reasons: [.interrupted])
}

/// Progress that a sync has made durable.
package struct ProgressSave: Equatable, Sendable {
    package var id: String
    /// The attempt that the ranges belong to; a save of an earlier attempt changes nothing.
    package var attempt: Int64
    package var durable: ByteRangeSet
    package var transferredByteCount: Int64
    package var wastedByteCount: Int64

    package init(
        id: String,
        attempt: Int64,
        durable: ByteRangeSet,
        transferredByteCount: Int64,
        wastedByteCount: Int64
    ) {
        self.id = id
        self.attempt = attempt
        self.durable = durable
        self.transferredByteCount = transferredByteCount
        self.wastedByteCount = wastedByteCount
    }
}

/// The operations of the store; each is performed completely or not at all.
///
/// Records are large: cases with a record are indirect, so that queues move a pointer.
package enum StoreOperation: Sendable {
    /// Inserts the download, or finds the existing one that the request means.  → `.started`
    indirect case start(StartCandidate)
    /// Replaces the stored record of a download that this session owns.  → `.saved`, `.destinationConflict`, …
    ///
    /// `record.owner == nil` removes the owner, as a final state does, except `canceled`. The revision increases;
    /// `updatedAt` is set by the caller.
    indirect case save(DownloadRecord)
    /// Stores durable ranges of a download that this session owns, without a new revision.
    /// → `.progressSaved`, `.stale`, …
    case saveProgress(ProgressSave)
    /// Sets the file name of a download that this session owns.  → `.saved`, `.destinationConflict`, …
    case claimDestination(id: String, path: String)
    /// Takes a download over unless another process runs it; one that was running is stored as interrupted.
    /// → `.loaded`, `.outside`, …
    case adopt(id: String)
    /// Takes over all downloads that pass the filter and whose files are where files may be, as many as fit one
    /// transaction.
    /// → `.adopted`, `.unknownDirectories`
    case adoptAll(AdoptionFilter)
    /// Removes the owner of a download that this session owns; its state stays.  → `.saved`, …
    case release(id: String)
    /// Deletes the record of a final download that no other process owns.  → `.deleted`, `.notFinal`, `.outside`, …
    case delete(id: String)
    /// → `.loaded`, `.notFound`
    case get(id: String)
    /// The latest completed download of the URL to that path whose finished file is known.  → `.loaded`, `.notFound`
    case getFinished(path: String, url: String)
    /// → `.page`, `.invalidCursor`, `.cursorExpired`
    case list(ListQuery)
    /// → `.counted`
    case counts
    /// The keys for signing resume data, the one for new texts first; empty if none can be stored.
    /// → `.resumeKeys`
    case resumeKeys(makes: Bool)
    /// The host of this session has exited: it releases downloads when another process asks.  → `.noted`
    case beginYielding
    /// Asks a yielding owner for a download.  → `.noted`, `.ownedElsewhere` if it does not yield, `.loaded`,
    /// `.notFound`
    case requestHandover(id: String)
    /// Downloads that other processes asked this session for.  → `.handovers`
    case handovers
    /// Deletes the request for a download.  → `.noted`
    case endHandover(id: String)

    var isRead: Bool {
        switch self {
        case .get, .getFinished, .list, .counts, .handovers, .resumeKeys: true
        default: false
        }
    }
}

/// The result of a `start`.
package indirect enum StartOutcome: Equatable, Sendable {
    /// Inserted, owned by this session.
    case created(DownloadRecord)
    /// It exists: owned by this session, final, or paused by the user.
    case existing(LoadedRecord)
    /// It exists and was interrupted; this session owns it now. Stored as paused, interrupted.
    case takenOver(LoadedRecord)
    /// The id belongs to another download, or the same download was started with another checksum.
    case idConflict(LoadedRecord, differs: [StartDifference])
    /// Another download that is not final has the destination.
    case destinationConflict(id: String)
    /// It exists, and another running process owns it.
    case ownedElsewhere(LoadedRecord)
    /// One of its paths is where files may not be; nothing was inserted or taken over.
    case outside(path: String)
    /// It does not exist, and was not to be inserted.
    case absent
}

/// Numbers of downloads, by their shown state.
package struct StoreCounts: Equatable, Sendable {
    package var byState: [DownloadState: Int] = [:]
    package var total: Int { byState.values.reduce(0, +) }

    package init() {}
}

/// The result of an operation.
package enum StoreOutcome: Equatable, Sendable {
    case started(StartOutcome)
    /// The new revision of the row.
    case saved(revision: Int64)
    case progressSaved
    indirect case loaded(LoadedRecord)
    /// `isComplete` is false if more downloads may pass: repeat the operation.
    case adopted([LoadedRecord], isComplete: Bool)
    /// None was taken over: first check whether links lead out of these directories, then repeat with the answer.
    case unknownDirectories(Set<String>)
    /// The revision of the tombstone, and the deleted record.
    indirect case deleted(LoadedRecord, revision: Int64)
    case page(ListPage)
    case counted(StoreCounts)
    case resumeKeys([[UInt8]])
    case noted
    case handovers([String])
    case notFound
    /// This session does not own it; the record as shown now.
    indirect case notOwned(LoadedRecord)
    /// Another running process owns it.
    indirect case ownedElsewhere(LoadedRecord)
    indirect case notFinal(LoadedRecord)
    /// One of its paths is where files may not be: the record can only be read.
    case outside(path: String)
    /// Progress of an earlier attempt.
    case stale
    /// Another download that is not final has the destination.
    case destinationConflict(id: String)
    case invalidCursor
    /// Removals after the requested revision are not known any more: list everything.
    case cursorExpired
    /// Nothing was changed, also by no other operation of the same transaction.
    case failed(StoreError)
}

/// The outcome of an operation, with the caller's ticket.
package struct StoreResult: Equatable, Sendable {
    package let ticket: UInt64
    package let outcome: StoreOutcome

    package init(ticket: UInt64, outcome: StoreOutcome) {
        self.ticket = ticket
        self.outcome = outcome
    }
}
