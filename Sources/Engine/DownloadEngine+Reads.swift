internal import Core
internal import Curl
internal import Files
internal import Platform
internal import Store

/// Queries: they change nothing, wait for no commit, and see all changes that were requested before them.
extension DownloadEngine {
    package func get(id: String, reply: @escaping Reply<DownloadSnapshot>) {
        pipeline.append(
            .run { [self] in
                if let download = downloads[id] { return reply(.success(durableSnapshot(of: download))) }
                submit(.get(id: id)) { [self] outcome in
                    reply(loaded(id, outcome).map { snapshot(of: $0) })
                }
            })
    }

    func loaded(
        _ id: String, _ outcome: Result<LoadedRecord?, StoreError>
    ) -> Result<LoadedRecord, EngineError> {
        switch outcome {
        case .success(let loaded?): .success(loaded)
        case .success(nil): .failure(.downloadNotFound(id: id))
        case .failure(let error): .failure(EngineError(error))
        }
    }

    package func list(_ request: ListRequest, reply: @escaping Reply<ListAnswer>) {
        pipeline.append(
            .run { [self] in
                let query = ListQuery(
                    states: request.states.map { Set($0) },
                    ids: request.ids,
                    changedSince: request.changedSinceRevision,
                    limit: request.limit,
                    cursor: request.cursor
                )
                // A page may read a hundred records, so pages are read one at a time.
                pipeline.block()
                submit(.list(query)) { [self] outcome in
                    defer { unblock() }
                    switch outcome {
                    case .success(.page(let page)): reply(.success(answer(page)))
                    case .success(.cursorExpired): reply(.failure(.cursorExpired))
                    case .success(.invalidCursor): reply(.failure(.invalidCursor))
                    case .failure(let error): reply(.failure(EngineError(error)))
                    }
                }
            })
    }

    private func answer(_ page: ListPage) -> ListAnswer {
        var entries: [ListAnswer.Entry] = []
        for (index, loaded) in page.records.enumerated() {
            let held = downloads[loaded.record.id].map { durableSnapshot(of: $0) }
            let end = page.end(after: index + 1)
            entries.append(
                ListAnswer.Entry(
                    download: held ?? snapshot(of: loaded),
                    cursorAfter: end.nextCursor ?? page.nextCursor ?? "",
                    removedIDs: end.removed.map(\.id)
                )
            )
        }
        return ListAnswer(
            entries: entries,
            removedIDs: page.removed.map(\.id),
            nextCursor: page.nextCursor,
            revision: page.revision
        )
    }

    package func inspect(id: String, reply: @escaping Reply<Inspection>) {
        pipeline.append(
            .run { [self] in
                if let download = downloads[id] { return reply(.success(inspection(of: download))) }
                submit(.get(id: id)) { [self] outcome in
                    reply(loaded(id, outcome).map { inspection(of: $0) })
                }
            })
    }

    private func inspection(of download: Download) -> Inspection {
        Inspection(
            download: durableSnapshot(of: download),
            hops: download.trail.hops,
            attempts: download.trail.attempts,
            etag: download.record.entity?.etag,
            lastModified: download.record.entity?.lastModified,
            durableRanges: download.partial.durable,
            writtenRanges: download.partial.file == nil ? download.partial.claimed : download.partial.written,
            consecutiveFailures: Int(clamping: download.record.failureCount),
            wastedByteCount: download.record.wastedByteCount
        )
    }

    private func inspection(of loaded: LoadedRecord) -> Inspection {
        let record = loaded.record
        return Inspection(
            download: snapshot(of: loaded),
            hops: endedTrails[record.id]?.hops ?? [],
            attempts: endedTrails[record.id]?.attempts ?? [],
            etag: record.entity?.etag,
            lastModified: record.entity?.lastModified,
            durableRanges: record.durable,
            writtenRanges: claimedRanges(record),
            consecutiveFailures: Int(clamping: record.failureCount),
            wastedByteCount: record.wastedByteCount
        )
    }

    /// Calls back when every earlier request was answered: keeps refusals in the order of the requests.
    package func afterEarlierRequests(_ body: @escaping () -> Void) {
        pipeline.append(.run { [self] in answer(body) })
    }

    // MARK: - Snapshots

    /// A download of this process that is not final, or whose end is being reported; nil for any other.
    package func snapshot(id: String) -> DownloadSnapshot? {
        downloads[id].map { durableSnapshot(of: $0, isTold: false) }
    }

    /// The client was sent this snapshot: no queued snapshot may report a lower count.
    package func noteTold(_ snapshot: DownloadSnapshot) {
        var told = snapshot
        downloads[snapshot.id]?.tell(&told)
    }

    /// The ids of all downloads in memory.
    package var heldIDs: [String] { Array(downloads.keys) }

    /// A download as its progress may be reported; nil for one that is not active, or about which an event is pending.
    package func progress(of id: String) -> DownloadSnapshot? {
        guard let download = downloads[id], download.pendingEventCount == 0, download.record.state == .active else {
            return nil
        }
        return durableSnapshot(of: download, isTold: false)
    }

    /// The ids of downloads whose byte counts or speed changed since the last call, and that may be reported now.
    package func takeAdvancedIDs() -> [String] {
        // A download that has stopped was reported by its event, and has no progress any more.
        let active = advancedIDs.filter { downloads[$0]?.record.state == .active }
        let ids = active.filter { downloads[$0]?.pendingEventCount == 0 }
        advancedIDs = active.subtracting(ids)
        return Array(ids)
    }

    /// For an answer that waited for its commit: adds its revision, and hides an end that could not be saved.
    func asCommitted(_ snapshot: DownloadSnapshot) -> DownloadSnapshot {
        guard let download = downloads[snapshot.id] else { return snapshot }
        var snapshot = snapshot
        snapshot.revision = download.record.revision
        download.tell(&snapshot)
        if download.endSaveFailureCount > 0 { hideCompletion(&snapshot) }
        return snapshot
    }

    /// For a request now: complete only if that was reported to the client, after the record was saved.
    private func durableSnapshot(of download: Download, isTold: Bool = true) -> DownloadSnapshot {
        var snapshot = snapshot(of: download)
        if isTold { download.tell(&snapshot) }
        if !download.isEndTold { hideCompletion(&snapshot) }
        return snapshot
    }

    /// It would be reported as complete, and after a crash it might not be.
    private func hideCompletion(_ snapshot: inout DownloadSnapshot) {
        guard snapshot.state == .completed else { return }
        snapshot.state = .active
        snapshot.phase = .finalizing
        snapshot.owner = .self
        snapshot.completedAtUnixMilliseconds = nil
    }

    /// The current state, saved or not.
    func snapshot(of download: Download) -> DownloadSnapshot {
        let record = download.record
        var snapshot = snapshot(of: record, owner: record.owner == nil || record.state.isFinal ? .none : .self)
        snapshot.phase = download.phase
        snapshot.transferredByteCount = download.transferredByteCount
        // This run may know more than the record.
        snapshot.isResumable = download.isResumable
        snapshot.connections = download.exchange == nil ? 0 : 1
        if record.state != .completed {
            snapshot.receivedByteCount = download.receivedByteCount
            snapshot.contiguousByteCount =
                download.partial.file == nil
                ? download.partial.claimed.contiguousByteCount : download.partial.written.contiguousByteCount
        }
        if download.endSaveFailureCount > 0 { hideCompletion(&snapshot) }
        if download.phase == .downloading {
            snapshot.bytesPerSecond = download.speed.bytesPerSecond(nowNanoseconds: now)
            if let total = record.entity?.totalByteCount {
                snapshot.etaMilliseconds = download.speed.etaMilliseconds(
                    remainingByteCount: total - snapshot.receivedByteCount, nowNanoseconds: now)
            }
        }
        return snapshot
    }

    /// A download that this process does not own, from its stored record.
    func snapshot(of loaded: LoadedRecord) -> DownloadSnapshot {
        let owner: Ownership =
            switch loaded.ownership {
            case _ where loaded.record.state.isFinal: .none
            case .own: .self
            case .other: .other
            case .none, .dead: .none
            }
        return snapshot(of: loaded.record, owner: owner)
    }

    private func snapshot(of record: DownloadRecord, owner: Ownership) -> DownloadSnapshot {
        let total = record.entity?.totalByteCount
        let held = record.state == .completed ? ByteRangeSet(0, total ?? 0) : claimedRanges(record)
        return DownloadSnapshot(
            id: record.id,
            url: record.url,
            finalURL: record.finalURL,
            path: record.path,
            partialPath: record.state.isFinal ? nil : record.partialPath,
            keptPaths: record.keptPaths,
            suggestedFileName: record.suggestedFileName,
            contentType: record.contentType,
            state: record.state,
            reason: record.reason,
            phase: nil,
            owner: owner,
            receivedByteCount: held.byteCount,
            totalByteCount: total,
            transferredByteCount: record.transferredByteCount,
            contiguousByteCount: held.contiguousByteCount,
            connections: 0,
            attempt: Int(clamping: record.attempt),
            isResumable: isResumable(record),
            isLengthVerified: record.isLengthVerified,
            transfer: record.transfer,
            retryAtUnixMilliseconds: record.retryAtMilliseconds,
            checksum: record.checksum,
            failure: record.failure,
            priority: record.priority,
            metadataText: record.metadataText,
            createdAtUnixMilliseconds: record.createdAtMilliseconds,
            updatedAtUnixMilliseconds: record.updatedAtMilliseconds,
            completedAtUnixMilliseconds: record.completedAtMilliseconds,
            revision: record.revision,
            isBackground: OptionsText.isBackground(record.optionsText)
        )
    }

    /// Whether an interruption would cost only the bytes on the way; nil until a response was received.
    private func isResumable(_ record: DownloadRecord) -> Bool? {
        guard let entity = record.entity else { return nil }
        let plan = ResumePlanner.plan(
            entity: entity,
            held: ByteRangeSet(0, 1),
            resumePolicy: OptionsText.decode(record.optionsText).resumePolicy,
            hasChecksum: record.checksum != nil
        )
        if case .whole = plan { return false }
        return true
    }

    /// The bytes according to the record; trusted only once the partial has been opened.
    func claimedRanges(_ record: DownloadRecord) -> ByteRangeSet {
        guard let identity = record.partial else { return ByteRangeSet() }
        return record.trustedRanges(bootID: bootID, mountID: record.written?.mountID, partial: identity)
    }
}
