internal import Core
package import Engine
internal import JSON
internal import Platform
internal import RPC

// Events for the host.
extension Session {
    /// Counts a download as the session's own, after the answer to the `start` that named it.
    func follow(
        _ download: DownloadSnapshot,
        _ selection: EventSelection,
        isBackground: Bool,
        _ engine: isolated DownloadEngine
    ) {
        downloads.follow(
            download,
            selection: selection,
            isBackground: isBackground,
            now: monotonicNanoseconds()
        )
    }

    /// The answer to `start` contained the state of the download, so an event with the same state is not sent.
    func followStarted(
        _ download: DownloadSnapshot,
        _ selection: EventSelection,
        isBackground: Bool,
        _ engine: isolated DownloadEngine
    ) {
        follow(download, selection, isBackground: isBackground, engine)
        _ = downloads.isTold(download)
    }

    /// Counts downloads that a `resume` started as the session's own.
    func followResumed(_ answer: CommandAnswer, _ engine: isolated DownloadEngine) {
        switch answer {
        case .one(let download, _):
            if download.owner == .`self` { followResumed(download, engine) }
        case .several: followHeld(engine)
        }
    }

    /// Counts all downloads of this process as the session's own.
    func followHeld(_ engine: isolated DownloadEngine) {
        for id in engine.heldIDs {
            guard let download = engine.snapshot(id: id), download.state != .paused else { continue }
            followResumed(download, engine)
        }
    }

    private func followResumed(_ download: DownloadSnapshot, _ engine: isolated DownloadEngine) {
        // A download that is already followed keeps the options of its `start`.
        if downloads.entries[download.id] != nil {
            downloads.update(download, now: monotonicNanoseconds())
        } else {
            follow(download, eventSelection, isBackground: download.isBackground, engine)
        }
    }

    /// Resumes interrupted downloads of processes that have exited, as the session's own.
    func resumeInterrupted(_ engine: isolated DownloadEngine, then: @escaping () -> Void) {
        pendingCount += 1
        engine.resumeInterrupted { [self] result in
            pendingCount -= 1
            switch result {
            case .success(let count): log.info("resumed \(count) interrupted downloads")
            case .failure(let error): log.error("cannot resume interrupted downloads: \(RPCError(error).message)")
            }
            followHeld(engine)
            then()
            if leaving.isWaitingForQuiet { nudge() }
        }
    }

    /// See `EngineClient`: sends the event, then answers the waits.
    package func downloadChanged(
        _ download: DownloadSnapshot, isUpdate: Bool, _ engine: isolated DownloadEngine
    ) {
        take(download, isOwn: true, isUpdate: isUpdate, engine)
    }

    /// See `EngineClient`.
    package func downloadRemoved(id: String, revision: Int64, _ engine: isolated DownloadEngine) {
        takeRemoval(of: id, revision: revision, isOwn: true)
    }

    /// Sends the removal of a record to the host, and fails the waits for it.
    ///
    /// - Parameter revision: nil if another process removed it.
    func takeRemoval(of id: String, revision: Int64?, isOwn: Bool) {
        let isFollowed = downloads.remove(id)
        pacer.forget(id)
        output.discardProgress(id: id)
        if life.framing != nil, isFollowed || subscriptions.interest(in: id, isOwn: isOwn).wantsChanged {
            sendNumbered("removed", ["id": .string(id), "revision": .optional(revision)])
        }
        failWaits(for: id, RPCError(EngineError.downloadNotFound(id: id)))
        if leaving.isWaitingForQuiet { nudge() }
    }

    /// Sends the new state of a download, then answers the waits that it ends.
    ///
    /// - Parameter isUpdate: something other than state, reason and phase changed.
    func take(
        _ download: DownloadSnapshot, isOwn: Bool, isUpdate: Bool = false, _ engine: isolated DownloadEngine
    ) {
        let now = monotonicNanoseconds()
        let interest = interest(in: download.id, isOwn: isOwn)
        let isTold = downloads.isTold(download) && !isUpdate
        downloads.update(download, now: now)
        poller.note(download)
        if download.state.isFinal {
            pacer.forget(download.id)
            output.discardProgress(id: download.id)
        }
        // Nothing is written before the first input, which also determines the framing.
        if interest.wantsChanged && !isTold && life.framing != nil { sendChanged(download) }
        settleWaits(download, now: now, engine)
        if leaving.isWaitingForQuiet { nudge() }
    }

    private func sendChanged(_ download: DownloadSnapshot) {
        sendNumbered("changed", ["download": .object(download.encoded())])
    }

    /// Sends an event with its own `seq`: it is either sent or counted as lost.
    private func sendNumbered(_ method: String, _ more: JSONObject) {
        seq += 1
        var params: JSONObject = ["session": .string(name), "seq": .integer(seq)]
        for (name, value) in more.members { params[name] = value }
        output.sendEvent(Notification(method: method, params: params).encoded(), sequence: seq)
    }

    /// The message that reports a gap in the events.
    package static func encodeEventsLost(_ lost: ClosedRange<Int64>, session: String) -> [UInt8] {
        let params: JSONObject = [
            "session": .string(session), "fromSeq": .integer(lost.lowerBound), "toSeq": .integer(lost.upperBound),
        ]
        return Notification(method: "eventsLost", params: params).encoded()
    }

    private func interest(in id: String, isOwn: Bool) -> Subscriptions.Interest {
        var interest = subscriptions.interest(in: id, isOwn: isOwn)
        switch downloads.selection(of: id) {
        case EventSelection.none?, nil: break
        case .changed?: interest.wantsChanged = true
        case .all?:
            interest.wantsChanged = true
            interest.want(progressEvery: progressIntervalMilliseconds)
        }
        return interest
    }

    /// Sends the progress events that are due.
    ///
    /// - Returns: when to call this again; nil if no download is active.
    func sweepProgress(now: Int64, _ engine: isolated DownloadEngine) -> Int64? {
        if now >= nextSweepAt {
            let shortest = min(progressIntervalMilliseconds, subscriptions.shortestIntervalMilliseconds ?? .max)
            nextSweepAt = now + shortest * 1_000_000
            let advanced = engine.takeAdvancedIDs()
            pacer.note(advanced)
            for id in pacer.takeDue(now: now, interval: { interest(in: $0, isOwn: true).progressIntervalMilliseconds })
            {
                guard let download = engine.progress(of: id) else { continue }
                sendProgress(download)
                engine.noteTold(download)
            }
            for id in advanced {
                if let download = engine.snapshot(id: id) { reportWaits(download, now: now) }
            }
        }
        return downloads.hasActive || !pacer.isEmpty ? nextSweepAt : nil
    }

    /// As `sweepProgress`, for one download of another process that has received bytes.
    func tellProgress(ofOther download: DownloadSnapshot, now: Int64) {
        let id = download.id
        reportWaits(download, now: now)
        let interval = interest(in: id, isOwn: false).progressIntervalMilliseconds
        if pacer.isDue(id, now: now, interval: interval) { sendProgress(download) }
    }

    private func sendProgress(_ download: DownloadSnapshot) {
        if life.framing == nil { return }
        let params: JSONObject = [
            "session": .string(name),
            "seq": .integer(seq),
            "id": .string(download.id),
            "phase": .optional(download.phase?.rawValue),
            "path": .optional(download.path),
            "attempt": .integer(Int64(download.attempt)),
            "receivedBytes": .integer(download.receivedByteCount),
            "contiguousBytes": .integer(download.contiguousByteCount),
            "totalBytes": .optional(download.totalByteCount),
            "bytesPerSecond": .optional(download.bytesPerSecond),
            "etaMs": .optional(download.etaMilliseconds),
            "connections": .integer(Int64(download.connections)),
        ]
        output.sendProgress(Notification(method: "progress", params: params).encoded(), id: download.id)
    }
}
