package import Core

/// A download that `start` asks for.
package struct StartCandidate: Sendable {
    /// What to insert if nothing stands in its way; its owner becomes this session.
    package var record: DownloadRecord
    /// False when the id was made for it: then a download of the same URL to the same destination is looked for.
    package var isIDGiven: Bool
    /// False to find only: `.absent` where it would have been inserted.
    package var mayInsert = true
    /// The URL with its userinfo, as records of earlier versions have it.
    package var givenURL: String

    package init(record: DownloadRecord, isIDGiven: Bool, givenURL: String? = nil) {
        self.record = record
        self.isIDGiven = isIDGiven
        self.givenURL = givenURL ?? record.url
    }
}

/// In what a `start` differs from the download that it names.
package enum StartDifference: String, Equatable, Sendable, CaseIterable {
    case url
    case destination
    case checksum
    case ifExists
}

/// Which downloads without a living owner to take over, by how they read.
package struct AdoptionFilter: Equatable, Sendable {
    package var states: Set<DownloadState>
    /// Nil for any reason; states without one pass.
    package var reasons: Set<StateReason>?
    /// Leaves out those that nobody owns.
    package var onlyOfDead = false
    /// The directories that were looked at, and whether they lie where files may lie.
    package var knownDirectories: [String: Bool] = [:]

    package init(states: Set<DownloadState>, reasons: Set<StateReason>? = nil, onlyOfDead: Bool = false) {
        self.states = states
        self.reasons = reasons
        self.onlyOfDead = onlyOfDead
    }

    /// What a crash or an exit stopped.
    package static let interrupted = AdoptionFilter(states: [.paused], reasons: [.interrupted])
}

/// Progress that a sync has made durable.
package struct ProgressSave: Equatable, Sendable {
    package var id: String
    /// The attempt that the ranges belong to; a save of an earlier one changes nothing.
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

/// What the store can be asked to do; each is done whole or not at all.
///
/// Records are large: cases that hold one are indirect, so that queues move a pointer.
package enum StoreOperation: Sendable {
    /// Inserts, or finds the download that the request means.  → `.started`
    indirect case start(StartCandidate)
    /// Replaces the stored record of a download that this session owns.  → `.saved`, `.destinationConflict`, …
    ///
    /// `record.owner == nil` gives it up, as a final state does, `canceled` excepted. The revision goes up; `updatedAt` is the caller's.
    indirect case save(DownloadRecord)
    /// Stores durable ranges of a download that this session owns, without a new revision.
    /// → `.progressSaved`, `.stale`, …
    case saveProgress(ProgressSave)
    /// Names the file of a download that this session owns.  → `.saved`, `.destinationConflict`, …
    case claimDestination(id: String, path: String)
    /// Takes a download over unless somebody else works on it; one that was running is stored as interrupted.
    /// → `.loaded`, `.outside`, …
    case adopt(id: String)
    /// Takes over all that pass and whose files lie where files may lie, as many as fit one transaction.
    /// → `.adopted`, `.unknownDirectories`
    case adoptAll(AdoptionFilter)
    /// Gives up a download that this session owns; its state stays.  → `.saved`, …
    case release(id: String)
    /// Forgets a final download that nobody else works on.  → `.deleted`, `.notFinal`, `.outside`, …
    case delete(id: String)
    /// → `.loaded`, `.notFound`
    case get(id: String)
    /// The latest completed download of the URL to that path whose file is known.  → `.loaded`, `.notFound`
    case getFinished(path: String, url: String)
    /// → `.page`, `.invalidCursor`, `.cursorExpired`
    case list(ListQuery)
    /// → `.counted`
    case counts
    /// The keys that resume data is signed with, the one for new texts first; none where none can be kept.
    /// → `.resumeKeys`
    case resumeKeys(makes: Bool)
    /// This session's host has gone: it gives its downloads up when another process asks.  → `.noted`
    case beginYielding
    /// Asks a yielding owner for a download.  → `.noted`, `.ownedElsewhere` if it does not yield, `.loaded`, `.notFound`
    case requestHandover(id: String)
    /// What others have asked this session for.  → `.handovers`
    case handovers
    /// Forgets that a download was asked for.  → `.noted`
    case endHandover(id: String)

    var isRead: Bool {
        switch self {
        case .get, .getFinished, .list, .counts, .handovers, .resumeKeys: true
        default: false
        }
    }
}

/// What became of a `start`.
package indirect enum StartOutcome: Equatable, Sendable {
    /// Inserted, owned by this session.
    case created(DownloadRecord)
    /// It exists: this session's, final, or paused by the user.
    case existing(LoadedRecord)
    /// It exists, an interruption had stopped it, and it is this session's now; stored as paused, interrupted.
    case takenOver(LoadedRecord)
    /// The id belongs to another download, or the same download was asked for with another checksum.
    case idConflict(LoadedRecord, differs: [StartDifference])
    /// Another download that is not final holds the destination.
    case destinationConflict(id: String)
    /// It exists and a living process works on it.
    case ownedElsewhere(LoadedRecord)
    /// A path of it lies where files may not lie; nothing was inserted or taken over.
    case outside(path: String)
    /// There is none, and none was to be inserted.
    case absent
}

/// How many downloads there are, by how they read.
package struct StoreCounts: Equatable, Sendable {
    package var byState: [DownloadState: Int] = [:]
    package var total: Int { byState.values.reduce(0, +) }

    package init() {}
}

/// What became of an operation.
package enum StoreOutcome: Equatable, Sendable {
    case started(StartOutcome)
    /// The row's revision now.
    case saved(revision: Int64)
    case progressSaved
    indirect case loaded(LoadedRecord)
    /// `isComplete` is false when more may pass: ask again.
    case adopted([LoadedRecord], isComplete: Bool)
    /// None was taken over: whether links lead out of these decides, so ask again with that known.
    case unknownDirectories(Set<String>)
    /// The tombstone's revision, and what was forgotten.
    indirect case deleted(LoadedRecord, revision: Int64)
    case page(ListPage)
    case counted(StoreCounts)
    case resumeKeys([[UInt8]])
    case noted
    case handovers([String])
    case notFound
    /// This session does not own it; the record as it reads now.
    indirect case notOwned(LoadedRecord)
    /// A living process works on it.
    indirect case ownedElsewhere(LoadedRecord)
    indirect case notFinal(LoadedRecord)
    /// A path of it lies where files may not lie: the record can be read, and nothing else.
    case outside(path: String)
    /// Progress of an attempt that is over.
    case stale
    /// Another download that is not final holds the destination.
    case destinationConflict(id: String)
    case invalidCursor
    /// Removals after the revision asked for are no longer known: list everything.
    case cursorExpired
    /// Nothing was changed, nor by any other operation of the same transaction.
    case failed(StoreError)
}

/// An operation's outcome, with the caller's mark.
package struct StoreResult: Equatable, Sendable {
    package let ticket: UInt64
    package let outcome: StoreOutcome

    package init(ticket: UInt64, outcome: StoreOutcome) {
        self.ticket = ticket
        self.outcome = outcome
    }
}
