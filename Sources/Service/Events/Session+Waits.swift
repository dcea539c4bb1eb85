internal import Core
internal import Engine
internal import JSON
internal import Platform
internal import RPC

// Answering `wait`.
extension Session {
    /// Registers a wait and checks at once whether it is over.
    func begin(_ wait: Wait, _ engine: isolated DownloadEngine) {
        park(wait.call)
        waits.add(wait)
        let ids = wait.missing.keys.sorted()
        if let token = wait.token {
            let title = wait.isSingle ? "Downloading" : "Downloading \(ids.count) files"
            sendWorkDone(token, ["kind": "begin", "title": .string(title), "cancellable": true])
        }
        if ids.isEmpty { return end(wait) }
        looks.add(ids, for: wait)
        lookOn(engine)
    }

    /// Reads the downloads that are waited for, a few at a time, because each read needs memory.
    private func lookOn(_ engine: isolated DownloadEngine) {
        while let (wait, id) = looks.begin() {
            engine.get(id: id) { [self] result in
                looks.end()
                wait.unseenCount -= 1
                if wait.unseenCount == 0 { releaseRoom(wait.call) }
                saw(result, of: id, for: wait)
                lookOn(engine)
            }
        }
    }

    private func saw(_ result: Result<DownloadSnapshot, EngineError>, of id: String, for wait: Wait) {
        if wait.isOver { return }
        // Its timeout may be over already.
        nudge()
        switch result {
        case .failure(let error): fail(wait, RPCError(error))
        case .success(let download):
            wait.see(download, now: monotonicNanoseconds())
            if wait.isSingle { wait.download = download }
            // Its final event is not sent yet, and must be sent before the answer.
            if download.state.isFinal && downloads.entries[id] != nil { return }
            settle(wait, download, now: monotonicNanoseconds())
        }
    }

    /// Ends the waits that the new state of a download satisfies.
    func settleWaits(_ download: DownloadSnapshot, now: Int64, _ engine: isolated DownloadEngine) {
        for wait in waits.waits(for: download.id) { settle(wait, download, now: now) }
    }

    private func settle(_ wait: Wait, _ download: DownloadSnapshot, now: Int64) {
        if wait.isSingle { wait.download = download }
        guard wait.missing[download.id] != nil else { return }
        wait.see(download, now: now)
        settle(wait, download.id, Wait.Seen(download), now: now)
    }

    private func settle(_ wait: Wait, _ id: String, _ seen: Wait.Seen, now: Int64) {
        guard hasReached(wait, id, seen, now: now) else { return }
        wait.reach(id, seen.state)
        waits.remove(wait, from: id)
        if wait.missing.isEmpty { end(wait) }
    }

    private func hasReached(_ wait: Wait, _ id: String, _ seen: Wait.Seen, now: Int64) -> Bool {
        if seen.state.isFinal { return true }
        return wait.goal == .settled && isSettled(wait, id, seen, now: now)
    }

    /// True if it will not change unless somebody acts.
    private func isSettled(_ wait: Wait, _ id: String, _ seen: Wait.Seen, now: Int64) -> Bool {
        if FollowedDownloads.isSettled(seen.state, seen.reason) || wait.isOfflineForLong(id, now: now) { return true }
        return downloads.entries[id] != nil && downloads.isSettled(id, now: now)
    }

    /// Answers the waits whose timeout is over, and those whose downloads count as settled because time has passed.
    ///
    /// - Returns: when the next wait times out or settles.
    func expireWaits(now: Int64, _ engine: isolated DownloadEngine) -> Int64? {
        if waits.isEmpty { return nil }
        settleForTime(now: now)
        for wait in waits.all.values where wait.unseenCount == 0 && !wait.isHeldForEvent {
            guard let deadline = wait.deadline, deadline <= now else { continue }
            // Newer counts may have been sent since the wait last read them.
            if let old = wait.download, let new = engine.snapshot(id: old.id), new.attempt == old.attempt {
                wait.download?.receivedByteCount = max(old.receivedByteCount, new.receivedByteCount)
                engine.noteTold(new)
            }
            if wait.isEventDue { wait.isHeldForEvent = true } else { end(wait, timedOut: true) }
        }
        let times = [waits.nextDeadline, waits.nextSettleTime(now: now), downloads.nextSettleTime(now: now)]
        return times.compactMap { $0 }.min()
    }

    private func settleForTime(now: Int64) {
        for wait in waits.all.values where wait.goal == .settled {
            for id in wait.offlineSince.keys.sorted() {
                guard case let seen?? = wait.missing[id], seen.state == .waiting else { continue }
                settle(wait, id, seen, now: now)
            }
        }
    }

    /// Answers a wait.
    private func end(_ wait: Wait, timedOut: Bool = false) {
        if wait.isOver { return }
        wait.isOver = true
        waits.remove(wait)
        endWorkDone(wait, timedOut ? "Timed out" : "Done")
        if wait.isSingle, let download = wait.download {
            // Many waits may end at once with long answers, so each answer is counted only when it is made.
            releaseRoom(wait.call)
            answerWhenThereIsRoom { [seq] session in
                session.answer(wait.call, showing: download, seq: seq, ["timedOut": .bool(timedOut)])
            }
            return
        }
        var counts = JSONObject(DownloadState.allCases.map { ($0.rawValue, .integer(0)) })
        for state in wait.reached.values + wait.missing.values.compactMap({ $0?.state }) {
            counts[state.rawValue] = .integer((counts[state.rawValue]?.integer ?? 0) + 1)
        }
        answer(wait.call, ["counts": .object(counts), "timedOut": .bool(timedOut)])
    }

    /// The download was removed, or cannot be read.
    func failWaits(for id: String, _ error: RPCError) {
        for wait in waits.waits(for: id) { fail(wait, error) }
    }

    func fail(_ wait: Wait, _ error: RPCError) {
        if wait.isOver { return }
        wait.isOver = true
        waits.remove(wait)
        endWorkDone(wait, error.message)
        fail(wait.call, error)
    }

    func failAllWaits(_ error: RPCError) {
        for wait in waits.all.values { fail(wait, error) }
    }

    /// Cancels the wait with this request id.
    func cancelWait(requestID: RequestID) {
        for wait in waits.all.values where wait.call.id == requestID { fail(wait, .requestCancelled) }
    }

    /// Cancels the waits with this progress token.
    func cancelWaits(workDoneToken: JSONValue) {
        for wait in waits.all.values where wait.token == workDoneToken { fail(wait, .requestCancelled) }
    }

    /// True if no wait can end unless somebody acts.
    func areWaitsStuck(now: Int64) -> Bool {
        waits.all.values.allSatisfy { wait in
            wait.deadline == nil
                && wait.missing.allSatisfy { id, seen in
                    guard let seen else { return false }
                    return !seen.state.isFinal && isSettled(wait, id, seen, now: now)
                }
        }
    }

    // Work-done progress, as in the Language Server Protocol.

    func reportWaits(_ download: DownloadSnapshot, now: Int64) {
        for wait in waits.waits(for: download.id) {
            if wait.missing[download.id] != nil { wait.see(download, now: now) }
            if wait.isSingle { wait.download = download }
            guard let token = wait.token else { continue }
            if now - wait.lastReportAt < progressIntervalMilliseconds * 1_000_000 { continue }
            wait.lastReportAt = now
            output.sendProgress(workDone(token, wait.report(download)), id: wait.progressID)
        }
    }

    private func endWorkDone(_ wait: Wait, _ message: String) {
        guard let token = wait.token else { return }
        output.discardProgress(id: wait.progressID)
        sendWorkDone(token, ["kind": "end", "message": .string(message)])
    }

    /// Begin and end are sent in order, like answers; of the reports between them only the newest is queued.
    private func sendWorkDone(_ token: JSONValue, _ value: JSONObject) {
        output.sendReply(workDone(token, value))
    }

    private func workDone(_ token: JSONValue, _ value: JSONObject) -> [UInt8] {
        Notification(method: "$/progress", params: ["token": token, "value": .object(value)]).encoded()
    }
}

extension Wait {
    fileprivate func report(_ download: DownloadSnapshot) -> JSONObject {
        guard isSingle else {
            let done = reached.count
            return ["kind": "report", "message": .string("\(done) of \(done + missing.count) files")]
        }
        guard let total = download.totalByteCount, total > 0 else {
            return ["kind": "report", "message": .string("\(download.receivedByteCount) bytes")]
        }
        let percentage = Int64(100 * (Double(min(download.receivedByteCount, total)) / Double(total)))
        return [
            "kind": "report",
            "message": .string("\(download.receivedByteCount) of \(total) bytes"),
            "percentage": .integer(percentage),
        ]
    }
}
