internal import Core
internal import Platform
internal import Store

/// How changes reach the disk and how answers and events wait for it.
///
/// Whatever a turn changed goes to the store as one batch at its end, and everything that tells of it waits in the outbox
/// until that batch is committed: an answer means durable.
extension DownloadEngine {
    static let retryCommitNanoseconds: Int64 = 1_000_000_000
    /// How often saving the end of a complete download is tried before it counts as failed.
    static let maxEndSaveCount = 10

    /// Notes that the record must be saved; the save is handed over at the end of the turn.
    ///
    /// - Parameter afterSave: runs when that save has ended; with false if it failed.
    func markDirty(_ download: Download, afterSave: ((Bool) -> Void)? = nil) {
        if let afterSave { download.afterSave.append(afterSave) }
        if download.isDirty { return }
        download.isDirty = true
        dirty.append(download)
    }

    /// Moves a download to a state; its record is saved, and the client hears of it after that.
    ///
    /// - Parameter isTold: false when the caller sees to the event.
    func change(
        _ download: Download,
        to state: DownloadState,
        reason: StateReason? = nil,
        phase: DownloadPhase? = nil,
        isTold: Bool = true
    ) {
        separateLook()
        download.generation += 1
        download.isEndTold = false
        download.isEndHeldBack = false
        download.endSaveFailureCount = 0
        download.record.state = state
        download.record.reason = reason
        download.phase = phase
        if state != .waiting { download.record.retryAtMilliseconds = nil }
        download.record.updatedAtMilliseconds = unixMilliseconds()
        download.record.completedAtMilliseconds = state == .completed ? download.record.updatedAtMilliseconds : nil
        let staysOurs = !state.isFinal || (state == .canceled && download.isDiscarding)
        download.record.owner = staysOurs ? store.session.number : nil
        markDirty(download)
        if isTold { tell(download) }
    }

    /// Moves an active download to a phase.
    ///
    /// The record does not hold it, and is saved all the same: each change that is told has a revision of its own.
    func change(_ download: Download, phase: DownloadPhase) {
        guard download.record.state == .active, download.phase != phase else { return }
        separateLook()
        download.phase = phase
        markDirty(download)
        tell(download)
    }

    /// What is to be told so far gets a revision of its own: whoever lists from there must find what changes next.
    private func separateLook() {
        if outbox.hasUnsealed { commitDirty() }
    }

    /// Queues the event that tells how the download is now.
    func tell(_ download: Download) {
        outbox.append(.event(snapshot(of: download)))
    }

    /// Queues an answer behind everything that has happened so far.
    func answer(_ reply: @escaping () -> Void) {
        outbox.append(.reply(reply))
    }

    /// Hands a store operation over; what changed so far goes first.
    func submit(_ operation: StoreOperation, then handler: @escaping (StoreOutcome) -> Void) {
        commitDirty()
        submitNow(operation, then: handler)
    }

    @discardableResult
    private func submitNow(_ operation: StoreOperation, then handler: @escaping (StoreOutcome) -> Void) -> UInt64 {
        lastStoreTicket += 1
        storeHandlers[lastStoreTicket] = handler
        store.submit(operation, ticket: lastStoreTicket)
        return lastStoreTicket
    }

    /// Hands all changed records to the store and binds what waits in the outbox to that commit.
    func commitDirty() {
        let batch = dirty
        dirty.removeAll(keepingCapacity: true)
        for download in batch {
            let afterSave = download.afterSave
            download.isDirty = false
            download.afterSave = []
            download.lastSaveTicket = submitNow(.save(download.record)) { [self] outcome in
                let isSaved = saveEnded(download, outcome)
                for body in afterSave { body(isSaved) }
            }
        }
        outbox.seal(ticket: lastStoreTicket)
    }

    private func saveEnded(_ download: Download, _ outcome: StoreOutcome) -> Bool {
        switch outcome {
        case .saved(let revision):
            download.record.revision = revision
            download.isUnsaved = false
            self.revision = max(self.revision, revision)
            tellHeldBackEnd(download)
            if download.isEndTold { evict(download) }
            return true
        case .destinationConflict(let id):
            // Taken by another process between the claim and the save.
            download.isUnsaved = true
            if !download.record.state.isFinal {
                let message = "the download \(id) holds \(download.record.path ?? "the destination")"
                fail(download, DownloadFailure(.destinationConflict, message, isRetryable: false, holderID: id))
            }
            return false
        case .failed(let error):
            note(.error, "cannot save: \(error.message)", download)
            // The disk may have room later.
            unsaved.append(download)
            if unsaved.count == 1 { timers.add(.retryCommit, due: now + Self.retryCommitNanoseconds) }
            if download.record.state == .completed { endNotSaved(download, error) }
        default:
            note(.error, "cannot save: the record is not this process's any more", download)
            tellHeldBackEnd(download)
        }
        download.isUnsaved = true
        return false
    }

    /// Nobody is told that a download is complete before its record says so; if that takes too long, it has failed.
    ///
    /// The file has its name and stays: a resume finds it.
    private func endNotSaved(_ download: Download, _ error: StoreError) {
        download.endSaveFailureCount += 1
        guard download.endSaveFailureCount >= Self.maxEndSaveCount else { return }
        download.record.isFinalizing = true
        let message = "the file is in its place, and the state could not be saved: \(error.message)"
        fail(download, DownloadFailure(.storage, message, isRetryable: true))
    }

    private func tellHeldBackEnd(_ download: Download) {
        download.endSaveFailureCount = 0
        guard download.isEndHeldBack else { return }
        download.isEndHeldBack = false
        tell(download)
    }

    func retryCommit() {
        let again = unsaved
        unsaved.removeAll()
        for download in again { markDirty(download) }
    }

    func takeStoreResults() {
        for result in store.results.takeAll() {
            completedStoreTicket = max(completedStoreTicket, result.ticket)
            if case .failed(let error) = result.outcome, error.isFilesGone, !isStateGoneTold {
                isStateGoneTold = true
                note(.error, error.message, nil)
            }
            storeHandlers.removeValue(forKey: result.ticket)?(result.outcome)
            // What waited for this commit tells its revision, not that of the next.
            drainOutbox()
        }
    }

    /// Lets go what is durable by now, in order.
    func drainOutbox() {
        while let entry = outbox.popReady(completedTicket: completedStoreTicket) {
            switch entry {
            case .reply(let reply): reply()
            case .event(let told): letGo(told, isUpdate: false)
            case .update(let told): letGo(told, isUpdate: true)
            case .removal(let id, let revision): client?.downloadRemoved(id: id, revision: revision, self)
            }
        }
    }

    private func letGo(_ snapshot: DownloadSnapshot, isUpdate: Bool) {
        var told = snapshot
        if let held = downloads[told.id] {
            told.revision = held.record.revision
            held.tell(&told)
            if told.state == .completed, held.endSaveFailureCount > 0 {
                held.isEndHeldBack = true
                return
            }
            // Once the client has heard the end it may ask again: forget the download first.
            if told.state.isFinal {
                held.isEndTold = held.record.state.isFinal
                evict(held)
            }
        }
        client?.downloadChanged(told, isUpdate: isUpdate, self)
    }

    /// Forgets a download that is over; the store keeps its record.
    ///
    /// As long as the store does not know the end, only memory does.
    func evict(_ download: Download) {
        guard download.record.state.isFinal, !download.isDirty, !download.isUnsaved,
            download.lastSaveTicket <= completedStoreTicket
        else { return }
        releaseFile(download)
        endedTrails.keep(download.trail, id: download.id)
        downloads[download.id] = nil
        advancedIDs.remove(download.id)
    }

    func note(_ level: EngineLogLine.Level, _ message: String, _ download: Download?) {
        log(EngineLogLine(level: level, message: message, downloadID: download?.id))
    }
}
