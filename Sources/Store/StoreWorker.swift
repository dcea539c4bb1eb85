internal import Core
internal import Platform

/// Runs operations in transactions.  Isolation: the store thread.
final class StoreWorker {
    /// How long a transaction may run before it commits, because other processes wait for its lock.
    static let transactionLimitNanoseconds: Int64 = 15_000_000
    static let maxTombstoneCount = 10_000
    /// Maximum number of dead session files that one start deletes.
    static let maxRemovedSessionCount = 1_000

    /// The open database; throws if there is none.
    var table: RecordTable {
        get throws(StoreError) {
            guard let opened else { throw .indexLost }
            return opened
        }
    }
    let session: Int64
    let sessions: Sessions
    let scope: PathScope
    private let directory: StateDirectory
    private let resumeKeys: ResumeKeys
    private let busyLimitMilliseconds: Int32
    private var opened: RecordTable?
    private var files: DatabaseFiles

    // For the current transaction.
    private var deadline: Int64 = 0
    private var revisionAtBegin: Int64 = 0
    private(set) var revision: Int64 = 0
    private var deletedCount = 0
    private var alive: Set<Int64> = []
    private var slots: [Int64: [String: ProgressRecord]] = [:]
    /// A dead session stays dead.
    private var dead: Set<Int64>

    init(
        table: RecordTable, session: Int64, sessions: Sessions, directory: StateDirectory, scope: PathScope,
        resumeKeys: ResumeKeys, busyLimitMilliseconds: Int32, deadSessions: Set<Int64>
    ) {
        self.resumeKeys = resumeKeys
        dead = deadSessions
        opened = table
        let others = [directory.lockPath, sessions.path(session)]
        files = DatabaseFiles(path: directory.databasePath, others: others)
        self.busyLimitMilliseconds = busyLimitMilliseconds
        self.session = session
        self.sessions = sessions
        self.scope = scope
        self.directory = directory
    }

    // MARK: Transactions

    /// Performs some of the jobs, at least the first, in one transaction; returns their results in order.
    ///
    /// Reads at the front get their own transaction, which takes no write lock.
    func performTransaction(_ jobs: ArraySlice<StoreJob>) -> [StoreResult] {
        guard let first = jobs.first else { return [] }
        let isRead = first.operation.isRead
        let candidates = isRead ? jobs.prefix { $0.operation.isRead } : jobs
        return tryTransaction(candidates, isRead: isRead) { [self] count, error in
            // Nothing was committed: data read from truncated memory may be wrong, and so may the error.
            guard opened?.hasLostIndex ?? true || error == .indexLost else {
                return failure(of: candidates.prefix(count), error)
            }
            rollback()
            return tryTransaction(candidates, isRead: isRead) { failure(of: candidates.prefix($0), $1) }
        }
    }

    /// - Parameter failed: receives the number of jobs that were tried, and the error.
    private func tryTransaction(
        _ candidates: ArraySlice<StoreJob>, isRead: Bool, failed: (Int, StoreError) -> [StoreResult]
    ) -> [StoreResult] {
        do throws(StoreError) {
            try prepareFiles()
            try begin(isRead: isRead)
        } catch {
            // Each further try might wait the whole busy limit, so all of them fail now.
            return failed(candidates.count, error)
        }
        var results: [StoreResult] = []
        var triedCount = 0
        // If the commit fails, its effect is unknown until the data is read again.
        var isCommitting = false
        do throws(StoreError) {
            for job in candidates {
                triedCount += 1
                results.append(StoreResult(ticket: job.ticket, outcome: try perform(job.operation)))
                if isPastDeadline { break }
            }
            try checkFiles()
            isCommitting = true
            try commit()
            if let opened, opened.hasMetDamage {
                opened.hasMetDamage = false
                directory.requestCheck()
            }
            return results
        } catch {
            return isCommitting ? failure(of: candidates.prefix(triedCount), error) : failed(triedCount, error)
        }
    }

    // MARK: Files

    /// Builds the index again if it was deleted or truncated; throws if the database itself was.
    private func prepareFiles() throws(StoreError) {
        do throws(StoreError) {
            try checkFiles()
        } catch {
            guard error == .indexLost else { throw error }
            try reopen()
        }
    }

    private func checkFiles() throws(StoreError) {
        let trouble = files.trouble(indexByteCount: opened?.indexByteCount ?? 0) { [opened] in opened?.logByteCount ?? 0
        }
        switch trouble {
        case .gone(let path): throw .filesGone(path)
        case .indexLost: throw .indexLost
        case nil: if opened?.hasLostIndex ?? true { throw .indexLost }
        }
    }

    private func reopen() throws(StoreError) {
        opened?.leaveLog()
        opened = nil
        try files.invalidateIndex(limitMilliseconds: busyLimitMilliseconds)
        let database = try Database(
            path: directory.databasePath, modeSource: directory.lockPath, busyLimitMilliseconds: busyLimitMilliseconds)
        try database.beginService()
        try database.run("BEGIN IMMEDIATE; ROLLBACK")
        opened = RecordTable(database)
        files.noteIndex()
    }

    var isPastDeadline: Bool { monotonicNanoseconds() >= deadline }

    /// The next database-wide revision, for one changed row.
    func nextRevision() -> Int64 {
        revision += 1
        return revision
    }

    /// The next revision if a change succeeds; otherwise none is used.
    func withNextRevision(_ change: (Int64) throws(StoreError) -> Bool) throws(StoreError) -> Int64? {
        guard try change(revision + 1) else { return nil }
        return nextRevision()
    }

    private func begin(isRead: Bool) throws(StoreError) {
        alive.removeAll(keepingCapacity: true)
        slots.removeAll(keepingCapacity: true)
        deletedCount = 0
        // A deferred transaction that only reads takes a snapshot, and never needs the write lock.
        try table.run(isRead ? "BEGIN DEFERRED" : "BEGIN IMMEDIATE")
        deadline = monotonicNanoseconds() + Self.transactionLimitNanoseconds
        do throws(StoreError) {
            revisionAtBegin = try table.meta("revision")
            guard (0...StoreLimits.maxRevision).contains(revisionAtBegin) else {
                throw .damaged("the revision is out of range")
            }
            revision = revisionAtBegin
        } catch {
            rollback()
            throw error
        }
    }

    private func commit() throws(StoreError) {
        if deletedCount > 0, let floor = try table.trimTombstones(keeping: Self.maxTombstoneCount) {
            try table.setMeta("tombstoneFloor", floor)
        }
        if revision != revisionAtBegin { try table.setMeta("revision", revision) }
        try table.run("COMMIT")
        if revision != revisionAtBegin { directory.noteRevision(revision) }
    }

    private func failure(of jobs: ArraySlice<StoreJob>, _ error: StoreError) -> [StoreResult] {
        rollback()
        if error.isCorrupt { directory.requestCheck() }
        return jobs.map { StoreResult(ticket: $0.ticket, outcome: .failed(error)) }
    }

    private func rollback() {
        if let opened, opened.isInTransaction { try? opened.run("ROLLBACK") }
    }

    // MARK: Operations

    private func perform(_ operation: StoreOperation) throws(StoreError) -> StoreOutcome {
        switch operation {
        case .start(let candidate): return .started(try start(candidate))
        case .save(let record): return try save(record)
        case .saveProgress(let save): return try saveProgress(save)
        case .claimDestination(let id, let path): return try claimDestination(id, path)
        case .adopt(let id): return try adopt(id)
        case .adoptAll(let filter): return try adoptAll(filter)
        case .release(let id): return try release(id)
        case .delete(let id): return try delete(id)
        case .get(let id): return try table.find(id: id).map { .loaded(load($0)) } ?? .notFound
        case .getFinished(let path, let url):
            return try table.findFinished(path: path, url: url).map { .loaded(load($0)) } ?? .notFound
        case .list(let query): return try list(query)
        case .counts: return .counted(try counts())
        case .resumeKeys(let makes): return .resumeKeys(makes ? resumeKeys.made() : resumeKeys.existing())
        case .beginYielding:
            try table.insertYielding(session)
            return .noted
        case .requestHandover(let id): return try requestHandover(id)
        case .handovers: return .handovers(try table.handovers(owner: session))
        case .endHandover(let id):
            try table.deleteHandover(id: id)
            return .noted
        }
    }

    private func save(_ record: DownloadRecord) throws(StoreError) -> StoreOutcome {
        // A canceled download may keep its owner until its partial file is deleted.
        let mayBeOwned = !record.state.isFinal || record.state == .canceled
        let owner = record.owner == nil || !mayBeOwned ? 0 : session
        do throws(StoreError) {
            let saved = try withNextRevision { revision throws(StoreError) in
                try table.update(record, owner: owner, expectedOwner: session, revision: revision)
            }
            if let saved { return .saved(revision: saved) }
        } catch {
            guard error.isConstraint, let path = record.path, let holder = try table.find(holding: path),
                holder.id != record.id
            else { throw error }
            return .destinationConflict(id: holder.id)
        }
        return try whyNotOwned(record.id)
    }

    private func saveProgress(_ save: ProgressSave) throws(StoreError) -> StoreOutcome {
        if try table.update(save, expectedOwner: session) { return .progressSaved }
        if let record = try table.find(id: save.id), record.owner == session { return .stale }
        return try whyNotOwned(save.id)
    }

    private func claimDestination(_ id: String, _ path: String) throws(StoreError) -> StoreOutcome {
        if let holder = try table.find(holding: path), holder.id != id { return .destinationConflict(id: holder.id) }
        let saved = try withNextRevision { revision throws(StoreError) in
            try table.updatePath(id: id, path, expectedOwner: session, revision: revision)
        }
        if let saved { return .saved(revision: saved) }
        return try whyNotOwned(id)
    }

    private func release(_ id: String) throws(StoreError) -> StoreOutcome {
        let saved = try withNextRevision { revision throws(StoreError) in
            try table.release(id: id, expectedOwner: session, revision: revision)
        }
        if let saved { return .saved(revision: saved) }
        return try whyNotOwned(id)
    }

    private func delete(_ id: String) throws(StoreError) -> StoreOutcome {
        guard let record = try table.find(id: id) else { return .notFound }
        let loaded = load(record)
        if loaded.ownership == .other { return .ownedElsewhere(loaded) }
        if let path = record.path(outside: scope) { return .outside(path: path) }
        guard record.state.isFinal else { return .notFinal(loaded) }
        try table.delete(id: id)
        let tombstone = Tombstone(id: id, revision: nextRevision())
        try table.insertTombstone(tombstone)
        deletedCount += 1
        return .deleted(loaded, revision: tombstone.revision)
    }

    private func whyNotOwned(_ id: String) throws(StoreError) -> StoreOutcome {
        guard let record = try table.find(id: id) else { return .notFound }
        let loaded = load(record)
        return loaded.ownership == .other ? .ownedElsewhere(loaded) : .notOwned(loaded)
    }

    // MARK: Owners

    /// The current meaning of a stored owner.
    func ownership(_ owner: Int64) -> Ownership {
        if owner == 0 { return .none }
        if owner == session { return .own }
        if dead.contains(owner) { return .dead }
        if alive.contains(owner) { return .other }
        if sessions.isAlive(owner) {
            alive.insert(owner)
            return .other
        }
        dead.insert(owner)
        return .dead
    }

    /// True if a running process owns it.
    func isTended(_ owner: Int64) -> Bool {
        let ownership = ownership(owner)
        return ownership == .own || ownership == .other
    }

    /// How a stored state is shown.
    func effective(_ state: DownloadState, owner: Int64) -> DownloadState {
        state.isRunning && !isTended(owner) ? .paused : state
    }

    /// A stored record as it is shown now.
    func load(_ stored: DownloadRecord) -> LoadedRecord {
        var record = stored
        let ownership = ownership(stored.owner ?? 0)
        if record.written?.attempt != record.attempt { record.written = nil }
        if !record.state.isFinal, ownership == .dead || ownership == .other, let marks = marks(of: record) {
            if record.written.map({ marks.isFurther(than: $0) }) ?? true { record.written = marks }
            record.keepRangesWithinLimits()
        }
        if record.state.isRunning, ownership == .dead || ownership == .none {
            record.state = .paused
            record.reason = .interrupted
        }
        let yields = ownership == .other && (try? table.isYielding(stored.owner ?? 0)) == true
        return LoadedRecord(record: record, ownership: ownership, ownerYields: yields)
    }

    /// The marks in the owner's slot for the record's attempt.
    private func marks(of record: DownloadRecord) -> ProgressRecord? {
        guard let owner = record.owner else { return nil }
        if let slot = record.slotIndex, let marks = sessions.readSlot(owner, slot),
            marks.downloadID == record.id, marks.attempt == record.attempt
        {
            return marks
        }
        let all = slots[owner] ?? sessions.readSlots(owner)
        slots[owner] = all
        guard let marks = all[record.id], marks.attempt == record.attempt else { return nil }
        return marks
    }

    // MARK: Session files

    /// Deletes the files of dead sessions, unless a record needs them.
    func removeDeadSessions() {
        for number in sessions.numbers().prefix(Self.maxRemovedSessionCount) where number != session {
            try? sessions.removeIfDead(number) { () throws(StoreError) in try isNamed(number) }
        }
    }

    func removeOwnSessionIfUnnamed() {
        try? table.trimYielding(session)
        if (try? isNamed(session)) == false { sessions.remove(session) }
    }

    private func isNamed(_ number: Int64) throws(StoreError) -> Bool {
        for state in DownloadState.allCases {
            if try !table.sequences(state, owner: number, after: 0, limit: 1).isEmpty { return true }
        }
        return false
    }
}

extension DownloadState {
    /// A running process must work on it: queued, active or waiting.
    var isRunning: Bool {
        switch self {
        case .queued, .active, .waiting: true
        case .paused, .failed, .completed, .canceled: false
        }
    }
}
