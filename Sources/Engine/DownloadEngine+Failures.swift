internal import Core
internal import Curl
internal import Files
internal import Platform
internal import Store

/// What happens after a failure: a retry, a wait, or the end.
extension DownloadEngine {
    /// Stops the running work of a download and removes it from the queue; gathered bytes are still written.
    ///
    /// Pending steps that wait for the disk become void: none of them may begin a transfer or rename the file.
    func stop(_ download: Download) {
        download.generation += 1
        queue.leave(download.id)
        if let exchange = download.exchange {
            if exchange.plan != nil { collectAll(download, exchange) }
            recordTimes(download, exchange)
            dropExchange(download)
        }
        download.bodyEnd = nil
        download.look = nil
        download.digestCancellation?.cancel()
        download.digestCancellation = nil
        pumpPartial(download)
    }

    /// A transfer, or a later step, failed: retries after a wait, or gives up.
    func attemptFailed(_ download: Download, _ failure: DownloadFailure, _ advice: RetryAdvice? = nil) {
        if let exchange = download.exchange, exchange.isAtEarlierLocation, exchange.plan == nil {
            return leaveEarlierLocation(download)
        }
        // Bytes that only replace discarded ones do not reset the count: otherwise a file that changes with every run
        // would be retried for ever.
        let hasGained = hasGained(download) && !download.hasDiscarded
        download.startByteCount = download.byteCountInHand
        stop(download)
        if download.byteCountInHand > 0 { download.isMemoryCounted = true }
        download.record.failure = failure
        download.trail.updateAttempt { attempt in
            attempt.failure = failure
            attempt.endedAtUnixMilliseconds = unixMilliseconds()
        }
        if hasGained { download.record.failureCount = 0 }
        // A lack of file descriptors on this machine is not a failed try: it waits for one, however long that takes.
        let isShortage = failure.errno.map { Errno(code: Int32(clamping: $0)).isDescriptorShortage } ?? false
        if isShortage {
            download.shortageCount = download.shortageCount.addingSaturated(1)
        } else {
            download.shortageCount = 0
            if advice == nil, waitsForNetwork(download, failure) { return }
            download.record.failureCount = download.record.failureCount.addingSaturated(1)
        }
        let decision = RetryPolicy.decide(
            failureCount: Int(clamping: isShortage ? download.shortageCount : download.record.failureCount),
            options: download.options.retry,
            failure: failure,
            retryAfterMilliseconds: advice?.retryAfterMilliseconds,
            isUnbounded: isShortage,
            random: Double.random(in: 0..<1)
        )
        switch decision {
        case .giveUp: fail(download, failure)
        case .retry(let milliseconds):
            wait(download, reason: advice?.isRateLimited == true ? .rateLimited : .retry, milliseconds: milliseconds)
        }
    }

    /// Whether the last transfer received bytes that were not there before.
    ///
    /// Receiving discarded bytes again does not count, even with a few more: otherwise a server without ranges on a bad
    /// link would be asked for ever.
    private func hasGained(_ download: Download) -> Bool {
        download.byteCountInHand > download.startByteCount && download.record.transfer?.mode != .restarted
    }

    /// A body ended that was a part of the file: requests the next part, at once if this one was useful.
    ///
    /// A part without new bytes counts as a failure and waits like one; otherwise a server that sends the same part to
    /// every request would be asked as fast as it answers. The first part of a new version is useful; `restartCount`
    /// limits those.
    func askForRest(_ download: Download) {
        if download.parts.lastByteCount == 0, download.quirks.comparedEnd != nil { return goOnComparing(download) }
        let isNewVersion = download.record.transfer?.why?.isChange == true
        if hasGained(download) || (isNewVersion && download.restartCount < Limits.restartCount) {
            return askForNextPart(download)
        }
        let total = download.record.entity?.totalByteCount.map { " of \($0)" } ?? ""
        let held = "\(download.receivedByteCount)\(total) bytes were received"
        let message = "the server sent the same part again and no new bytes: \(held)"
        attemptFailed(download, DownloadFailure(.incomplete, message, isRetryable: true))
    }

    /// Requests the next part at once, except from a server whose parts are tiny: it must not be asked without end as
    /// fast as it answers.
    private func askForNextPart(_ download: Download) {
        if download.parts.lastByteCount < Limits.smallPartByteCount { download.parts.smallCount += 1 }
        guard download.parts.smallCount > Limits.smallPartCount else { return connect(download, isNextPart: true) }
        let generation = download.generation
        let next: () -> Void = { [self] in
            if generation == download.generation { connect(download, isNextPart: true) }
        }
        timers.add(.run(next), due: Timespan(milliseconds: Limits.smallPartMilliseconds).after(now))
    }

    /// The part ended within the bytes to compare: requests the rest of them, unless that takes too many parts.
    private func goOnComparing(_ download: Download) {
        download.parts.comparedCount += 1
        guard download.parts.comparedCount >= Limits.comparisonCount else {
            return connect(download, isNextPart: true)
        }
        guard download.restartCount < Limits.restartCount else {
            let message = "the server sends parts that are too small to resume from"
            return fail(download, DownloadFailure(.rangeUnsupported, message, isRetryable: false))
        }
        download.restartCount += 1
        download.quirks.rangesGivenUp = .badRangeResponse
        connect(download)
    }

    private func wait(_ download: Download, reason: StateReason, milliseconds: Int64) {
        download.record.retryAtMilliseconds = unixMilliseconds().addingSaturated(milliseconds)
        change(download, to: .waiting, reason: reason)
        timers.add(
            .retry(id: download.id, generation: download.generation),
            due: Timespan(milliseconds: milliseconds).after(now)
        )
    }

    /// The wait of a download is over, unless something else happened to it.
    func retry(id: String, generation: UInt64) {
        guard let download = downloads[id], download.generation == generation, download.record.state == .waiting else {
            return
        }
        change(download, to: .queued)
        enqueue(download)
    }

    /// Gives up; received bytes are kept for a later resume.
    func fail(_ download: Download, _ failure: DownloadFailure) {
        stop(download)
        download.record.failure = failure
        download.trail.updateAttempt { attempt in
            attempt.failure = failure
            attempt.endedAtUnixMilliseconds = unixMilliseconds()
        }
        // The end is reported when all writes have ended, so that the record contains all received bytes.
        let generation = download.generation
        whenQuiet(download) { [self] in
            guard generation == download.generation else { return }
            closeFile(download)
            change(download, to: .failed)
        }
    }

    /// The disk failed: bytes that were submitted and not confirmed do not count, and the file is closed.
    func diskFailed(_ download: Download, _ error: FileError) {
        if error.reason == .altered, download.partial.file != nil { return partialAltered(download, error) }
        let failure = error.downloadFailure
        download.noteReservedRoom()
        countingLosses(of: download) {
            dropExchange(download)
            dropGathered(download)
            if download.partial.stage == .committing { download.partial.stage = .ready }
            closeFile(download)
        }
        // No write of it is left, and perhaps no other result will report that.
        defer { quieted(download) }
        guard download.record.state == .active else {
            note(.warn, failure.message, download)
            return
        }
        if failure.kind == .diskFull {
            diskIsFull(download, failure, isReservation: error.operation == .reserve)
        } else if failure.isRetryable {
            attemptFailed(download, failure)
        } else {
            fail(download, failure)
        }
    }

    /// Another program changed the partial: nobody knows which of its bytes are still the received ones.
    private func partialAltered(_ download: Download, _ error: FileError) {
        let isActive = download.record.state == .active
        countingLosses(of: download) {
            dropExchange(download)
            dropGathered(download)
            discardHeld(download)
        }
        download.lossReason = .partialDamaged
        defer { quieted(download) }
        guard isActive else { return note(.warn, error.downloadFailure.message, download) }
        attemptFailed(download, error.downloadFailure)
    }

    /// Runs a body when no bytes of the download are on the way to the disk; at once if there are none.
    func whenQuiet(_ download: Download, _ body: @escaping () -> Void) {
        if download.partial.isQuiet, !download.isNaming { return body() }
        let earlier = download.onQuiet
        download.onQuiet = {
            earlier?()
            body()
        }
    }

    /// Limits how long that wait may take, if there is one.
    func limitQuietWait(_ download: Download, nanoseconds: Int64) {
        guard download.onQuiet != nil else { return }
        timers.add(.forceQuiet(download, quietCount: download.quietCount), due: now + nanoseconds)
    }

    func runDueTimers() {
        while let timer = timers.popDue(now: now) {
            switch timer {
            case .retry(let id, let generation): retry(id: id, generation: generation)
            case .offline(let id, let generation): lookAtOffline(id: id, generation: generation)
            case .tick: tick()
            case .retryCommit: retryCommit()
            case .forceQuiet(let download, let quietCount): forceQuiet(download, quietCount)
            case .run(let body): body()
            }
        }
    }

    /// The disk takes too long: the waiting request continues without the bytes that are not written yet.
    private func forceQuiet(_ download: Download, _ quietCount: UInt64) {
        guard download.quietCount == quietCount, let body = download.onQuiet else { return }
        download.onQuiet = nil
        download.quietCount += 1
        countingLosses(of: download) {
            dropGathered(download)
            download.partial.wholeByteCountOnItsWay = 0
            closeFile(download)
        }
        body()
    }
}
