internal import Core
internal import Store

/// How pause, resume and cancel act on one download.
extension DownloadEngine {
    /// How long a pause waits for bytes on the way to a slow disk before it is answered without them.
    static let quietLimitNanoseconds: Int64 = 200_000_000

    /// Performs the command on one download; first takes it over if nobody owns it.
    func perform(_ run: CommandRun, on id: String, then next: @escaping () -> Void) {
        lookUp(id) { [self] found in
            switch found {
            case .success(.held(let download)): apply(run, to: download, then: next)
            case .success(.stored(let loaded)): applyToStored(run, loaded, then: next)
            case .failure(let error):
                run.fail(id, error)
                next()
            }
        }
    }

    private func applyToStored(_ run: CommandRun, _ loaded: LoadedRecord, then next: @escaping () -> Void) {
        let record = loaded.record
        run.matchedCount += 1
        // A final download has an owner only while its partial is being deleted.
        if loaded.ownership == .other, !record.state.isFinal {
            run.fail(record.id, EngineError(lockedElsewhere: loaded))
            return next()
        }
        switch CommandPolicy.outcome(of: run.command, in: record.state) {
        case .unchanged:
            run.snapshot = snapshot(of: loaded)
            guard run.command == .pause, record.reason == .interrupted else { return next() }
            adopt(record.id) { [self] result in
                switch result {
                case .success(let adopted): keepPaused(hold(adopted), run)
                case .failure(let error): run.fail(record.id, error)
                }
                next()
            }
        case .invalid, .gone:
            run.fail(record.id, .invalidState(id: record.id, state: record.state, command: run.command))
            next()
        case .change:
            adopt(record.id) { [self] result in
                switch result {
                case .success(let adopted):
                    // `apply` counts it again.
                    run.matchedCount -= 1
                    applyToAdopted(run, adopted, then: next)
                case .failure(let error):
                    run.fail(record.id, error)
                    next()
                }
            }
        }
    }

    /// A failed download has released its destination: another download may use it now.
    private func applyToAdopted(_ run: CommandRun, _ adopted: LoadedRecord, then next: @escaping () -> Void) {
        let id = adopted.record.id
        guard run.command == .resume, adopted.record.state == .failed, let path = adopted.record.path else {
            return apply(run, to: hold(adopted), then: next)
        }
        submit(.claimDestination(id: id, path: path)) { [self] outcome in
            switch outcome {
            case .success(.saved): return apply(run, to: hold(adopted), then: next)
            case .success(.destinationConflict(let holder)): run.fail(id, .destinationHeld(path: path, id: holder))
            case .success(.notOurs), .failure:
                run.fail(id, .storageFailure(message: "the download could not be taken over"))
            }
            submit(.release(id: id)) { _ in }
            next()
        }
    }

    private func apply(_ run: CommandRun, to download: Download, then next: @escaping () -> Void) {
        let record = download.record
        run.matchedCount += 1
        switch CommandPolicy.outcome(of: run.command, in: record.state) {
        case .unchanged:
            if run.command == .pause, record.reason == .interrupted {
                keepPaused(download, run)
            } else {
                noteIntent(run, download)
                run.snapshot = snapshot(of: download)
            }
            next()
        case .invalid, .gone:
            run.fail(download.id, .invalidState(id: download.id, state: record.state, command: run.command))
            next()
        case .change(let status):
            switch run.command {
            case .pause: pause(download, run, status, then: next)
            case .resume:
                resume(download, run, status)
                next()
            case .cancel:
                cancel(download, run, status)
                next()
            case .remove: next()
            }
        }
    }

    /// Changes a pause by interruption into a pause by the user.
    private func keepPaused(_ download: Download, _ run: CommandRun) {
        download.record.intent = .paused
        changed(run, download, to: DownloadStatus(.paused, reason: .user))
    }

    /// Pausing an interrupted download does not change its state, but it must not be resumed automatically any more.
    private func noteIntent(_ run: CommandRun, _ download: Download) {
        guard run.command == .pause else { return }
        run.noted.append(download)
        guard download.record.intent != .paused else { return }
        download.record.intent = .paused
        markDirty(download)
    }

    private func pause(
        _ download: Download, _ run: CommandRun, _ status: DownloadStatus, then next: @escaping () -> Void
    ) {
        download.record.intent = .paused
        stop(download)
        let generation = download.generation
        whenQuiet(download) { [self] in
            // A failure of the disk came first: start the command again with the new state.
            guard generation == download.generation else { return perform(run, on: download.id, then: next) }
            closeFile(download)
            changed(run, download, to: status)
            next()
        }
        limitQuietWait(download, nanoseconds: Self.quietLimitNanoseconds)
    }

    private func resume(_ download: Download, _ run: CommandRun, _ status: DownloadStatus) {
        download.record.intent = .run
        download.record.failureCount = 0
        download.roomAskedAt = now
        if download.record.state == .failed {
            // The bytes were discarded with the failure; the next transfer reports why.
            if download.record.failure?.kind == .checksumMismatch { download.lossReason = .checksumMismatch }
            download.record.failure = nil
            beginAttempt(download)
        }
        changed(run, download, to: status)
        run.afterAnswer.append { [self] in enqueue(download) }
    }

    private func cancel(_ download: Download, _ run: CommandRun, _ status: DownloadStatus) {
        countingLosses(of: download) {
            dropExchange(download)
            dropGathered(download)
            download.partial.wholeByteCountOnItsWay = 0
            stop(download)
            if run.deletesPartial { discardPartial(download) }
        }
        changed(run, download, to: status)
    }

    /// Changes the state; the event is sent after the answer.
    private func changed(_ run: CommandRun, _ download: Download, to status: DownloadStatus) {
        change(download, to: status.state, reason: status.reason, phase: status.phase, isTold: false)
        let snapshot = snapshot(of: download)
        run.snapshot = snapshot
        run.changed.append(download)
        run.afterAnswer.append { [self] in announce(snapshot, of: download) }
    }
}
