internal import Core
internal import Platform
internal import Store

/// How changes are stored, and how answers and events wait for that.
///
/// All changes of a turn are submitted to the store as one batch at its end. Answers and events about them wait in the
/// outbox until the batch is committed: what an answer says is durable.
extension DownloadEngine {
    static let retryCommitNanoseconds: Int64 = 1_000_000_000
    /// How often saving the end of a complete download is tried before it counts as failed.
    static let maxEndSaveCount = 10

    /// Marks the record as changed; it is submitted at the end of the turn.
    ///
    /// - Parameter afterSave: called when that save has ended; with false if it failed.
    func markDirty(_ download: Download, afterSave: ((Bool) -> Void)? = nil) {
        if let afterSave { download.afterSave.append(afterSave) }
        if download.isDirty { return }
        download.isDirty = true
        dirty.append(download)
    }

    /// Changes the state of a download; the event is sent after the record is saved.
    ///
    /// - Parameter isTold: false if the caller sends the event.
    func change(
        _ download: Download,
        to state: DownloadState,
        reason: StateReason? = nil,
        phase: DownloadPhase? = nil,
        isTold: Bool = true
    ) {
        sealRevision()
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

    /// Changes the phase of an active download.
    ///
    /// The record does not contain the phase, but is saved nevertheless, so that each reported change has its own
    /// revision.
    func change(_ download: Download, phase: DownloadPhase) {
        guard download.record.state == .active, download.phase != phase else { return }
        sealRevision()
        download.phase = phase
        markDirty(download)
        tell(download)
    }

    /// Gives the events so far a revision of their own, so that a client that lists from there finds the next change.
    func sealRevision() {
        if outbox.hasUnsealed { commitDirty() }
    }

    /// Queues an event with the current state of the download.
    func tell(_ download: Download) {
        announce(snapshot(of: download), of: download)
    }

    /// Queues an event with what it says.
    ///
    /// - Parameter isUpdate: other members than state, reason and phase have changed.
    func announce(_ snapshot: DownloadSnapshot, of download: Download, isUpdate: Bool = false) {
        download.pendingEventCount += 1
        outbox.append(isUpdate ? .update(snapshot) : .event(snapshot))
    }

    /// Queues an answer behind all earlier answers and events.
    func answer(_ reply: @escaping () -> Void) {
        outbox.append(.reply(reply))
    }

    /// Submits a store operation; earlier changes are submitted first.
    func submit<Answer>(
        _ request: StoreRequest<Answer>, then handler: @escaping (Result<Answer, StoreError>) -> Void
    ) {
        commitDirty()
        submitNow(request, then: handler)
    }

    @discardableResult
    private func submitNow<Answer>(
        _ request: StoreRequest<Answer>, then handler: @escaping (Result<Answer, StoreError>) -> Void
    ) -> UInt64 {
        jobs.submit(request, then: handler)
    }

    /// Submits all changed records to the store; the queued answers and events wait for that commit.
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
        outbox.seal(ticket: jobs.lastStoreTicket)
    }

    private func saveEnded(_ download: Download, _ outcome: Result<SaveAnswer, StoreError>) -> Bool {
        switch outcome {
        case .success(.saved(let revision)):
            download.record.revision = revision
            download.isUnsaved = false
            self.revision = max(self.revision, revision)
            tellHeldBackEnd(download)
            if download.isEndTold { evict(download) }
            return true
        case .success(.destinationConflict(let id)):
            // Another process took the name between the claim and the save.
            download.isUnsaved = true
            if !download.record.state.isFinal {
                let message = "the download \(id) already uses \(download.record.path ?? "the destination")"
                fail(download, DownloadFailure(.destinationConflict, message, isRetryable: false, holderID: id))
            }
            return false
        case .failure(let error):
            note(.error, "cannot save: \(error.message)", download)
            // The disk may have space later.
            unsaved.append(download)
            if unsaved.count == 1 { timers.add(.retryCommit, due: now + Self.retryCommitNanoseconds) }
            if download.record.state == .completed { endNotSaved(download, error) }
        case .success(.notOurs):
            note(.error, "cannot save: this process does not own the record any more", download)
            tellHeldBackEnd(download)
        }
        download.isUnsaved = true
        return false
    }

    /// A download is not reported as complete before its record is saved; if that takes too long, it has failed.
    ///
    /// The file has its final name and stays: a resume finds it.
    private func endNotSaved(_ download: Download, _ error: StoreError) {
        download.endSaveFailureCount += 1
        guard download.endSaveFailureCount >= Self.maxEndSaveCount else { return }
        download.record.isFinalizing = true
        let message = "the file is complete at its destination, but the state could not be saved: \(error.message)"
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
        for result in jobs.takeStoreResults() {
            let handler = jobs.end(result)
            if case .failed(let error) = result.outcome, error.isFilesGone, !isStateGoneTold {
                isStateGoneTold = true
                note(.error, error.message, nil)
            }
            handler?(result.outcome)
            // What waited for this commit must report its revision, not that of the next commit.
            drainOutbox()
        }
    }

    /// Sends what is durable now, in order.
    func drainOutbox() {
        while let entry = outbox.popReady(completedTicket: jobs.completedStoreTicket) {
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
            held.pendingEventCount = max(0, held.pendingEventCount - 1)
            told.revision = held.record.revision
            held.tell(&told)
            if told.state == .completed, held.endSaveFailureCount > 0 {
                held.isEndHeldBack = true
                return
            }
            // After the client was told the end, it may ask again: drop the download from memory first.
            if told.state.isFinal {
                held.isEndTold = held.record.state.isFinal
                evict(held)
            }
        }
        client?.downloadChanged(told, isUpdate: isUpdate, self)
    }

    /// Drops a final download from memory; the store keeps its record.
    ///
    /// As long as the store does not have the end, it stays in memory.
    func evict(_ download: Download) {
        guard download.record.state.isFinal, !download.isDirty, !download.isUnsaved,
            download.lastSaveTicket <= jobs.completedStoreTicket
        else { return }
        // Somebody may wait for this one's descriptor; no other news may end the sleep.
        if queue.isHeldBack { isAdmissionCut = true }
        queue.leave(download.id)
        releaseFile(download)
        endedTrails.keep(download.trail, id: download.id)
        downloads[download.id] = nil
        advancedIDs.remove(download.id)
    }

    func note(_ level: EngineLogLine.Level, _ message: String, _ download: Download?) {
        log(EngineLogLine(level: level, message: message, downloadID: download?.id))
    }
}
