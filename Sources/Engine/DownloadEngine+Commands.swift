package import Core
internal import Files
internal import Platform
internal import Store

/// pause, resume, cancel and remove: one after the other, each on what those before it left.
extension DownloadEngine {
    /// How long a pause waits for bytes on their way to a slow disk before it is answered without them.
    static let quietLimitNanoseconds: Int64 = 200_000_000

    /// Pauses, resumes or cancels; answers in the order of the requests, when the records are durable.
    ///
    /// - Parameter deletesPartial: for cancel only.
    package func perform(
        _ command: DownloadCommand,
        on target: DownloadTarget,
        deletesPartial: Bool,
        reply: @escaping Reply<CommandAnswer>
    ) {
        pipeline.append(
            .run { [self] in
                if isSuspended { return answer { reply(.failure(.shuttingDown)) } }
                let run = CommandRun(command: command, deletesPartial: deletesPartial)
                pipeline.block()
                switch target {
                case .one(let id): perform(run, on: id) { [self] in answerOne(run, reply) }
                case .several(let ids): perform(run, onAll: ids[...], reply)
                case .all: performOnAll(run, reply)
                }
            })
    }

    /// Forgets a download in a final state.
    ///
    /// - Parameter deletesFile: removes the finished file too, if it still is the one that the record knows.
    package func remove(id: String, deletesFile: Bool, reply: @escaping Reply<Void>) {
        pipeline.append(
            .run { [self] in
                if isSuspended { return answer { reply(.failure(.shuttingDown)) } }
                if let held = downloads[id], !held.record.state.isFinal {
                    let error = EngineError.invalidState(id: id, state: held.record.state, command: .remove)
                    return answer { reply(.failure(error)) }
                }
                // The store may not know its end yet.
                if downloads[id]?.isUnsaved == true { retryCommit() }
                pipeline.block()
                removeFinal(id, deletesFile: deletesFile) { [self] result in
                    answer { reply(result) }
                    pipeline.unblock()
                    pumpPipeline()
                }
            })
    }

    /// The file first: what a kill leaves in between is a record, which can be removed again.
    private func removeFinal(
        _ id: String, deletesFile: Bool, then body: @escaping (Result<Void, EngineError>) -> Void
    ) {
        submit(.get(id: id)) { [self] outcome in
            guard case .loaded(let loaded) = outcome, loaded.record.state.isFinal, loaded.ownership != .other,
                let job = removalJob(loaded.record, deletesFile: deletesFile)
            else { return delete(id, then: body) }
            submit(.adopt(id: id)) { [self] outcome in
                guard case .loaded = outcome else { return removed(id, outcome, then: body) }
                run(job, limitNanoseconds: Self.quietLimitNanoseconds) { [self] in delete(id, then: body) }
            }
        }
    }

    private func delete(_ id: String, then body: @escaping (Result<Void, EngineError>) -> Void) {
        submit(.delete(id: id)) { [self] outcome in removed(id, outcome, then: body) }
    }

    private func removed(
        _ id: String, _ outcome: StoreOutcome, then body: @escaping (Result<Void, EngineError>) -> Void
    ) {
        switch outcome {
        case .deleted(_, let revision):
            self.revision = max(self.revision, revision)
            discards.remove(id)
            body(.success(()))
        case .notFound: body(.failure(.downloadNotFound(id: id)))
        case .notFinal(let loaded):
            body(.failure(.invalidState(id: id, state: loaded.record.state, command: .remove)))
        case .ownedElsewhere, .notOwned: body(.failure(.lockedElsewhere(id: id)))
        case .failed(let error):
            submit(.release(id: id)) { _ in }
            body(.failure(.storageFailure(message: error.message)))
        default: body(.failure(.storageFailure(message: "unexpected answer to a removal")))
        }
    }

    /// What removes what a forgotten download would leave; nil when there is nothing.
    private func removalJob(_ record: DownloadRecord, deletesFile: Bool) -> FileJob? {
        if record.state == .completed {
            guard deletesFile, let path = record.path, let finished = record.finished else { return nil }
            return .removeFinished(path: path, identity: finished.identity, byteCount: finished.byteCount)
        }
        guard let path = record.partialPath, let identity = record.partial else { return nil }
        return .discard(path: path, identity: identity)
    }

    /// Does a job, and calls back when it is done; when it takes long, before.
    private func run(_ job: FileJob, limitNanoseconds: Int64, then body: @escaping () -> Void) {
        var body: (() -> Void)? = body
        let once = {
            let due = body
            body = nil
            due?()
        }
        submit(job) { [self] outcome in
            // The record is gone: nobody tries again.
            if case .failed(let error) = outcome { note(.warn, error.downloadFailure.message, nil) }
            once()
        }
        timers.add(.run(once), due: now + limitNanoseconds)
    }

    /// Lets requests go on as far as they may.
    ///
    /// Called from within a step it returns at once: the loop that runs the step goes on, and thousands of requests that
    /// are answered on the spot need no deeper stack than one.
    func pumpPipeline() {
        guard !isPumping else { return }
        isPumping = true
        defer { isPumping = false }
        while let step = pipeline.popReady() {
            switch step {
            case .start(let body), .run(let body): body()
            }
        }
    }

    // MARK: - One command

    private func unblock() {
        pipeline.unblock()
        pumpPipeline()
    }

    private func answerOne(_ run: CommandRun, _ reply: @escaping Reply<CommandAnswer>) {
        defer { unblock() }
        if let (_, error) = run.errors.first { return answer { reply(.failure(error)) } }
        guard let snapshot = run.snapshot else {
            return answer { reply(.failure(.storageFailure(message: "the download could not be read"))) }
        }
        answer { [self] in
            if let error = run.storageFailure { return reply(.failure(error)) }
            reply(.success(.one(withRevision(snapshot), isChanged: !run.changed.isEmpty)))
        }
        run.endAnswered()
    }

    private func answerSeveral(_ run: CommandRun, _ reply: @escaping Reply<CommandAnswer>) {
        answer {
            if let error = run.storageFailure { return reply(.failure(error)) }
            reply(.success(.several(matched: run.matchedCount, changed: run.changed.count, errors: run.errors)))
        }
        run.endAnswered()
        unblock()
    }

    private func perform(_ run: CommandRun, onAll ids: ArraySlice<String>, _ reply: @escaping Reply<CommandAnswer>) {
        var rest = ids
        // A loop, not a recursion, over those that are done at once: there may be a hundred thousand.
        while let id = rest.popFirst() {
            run.isLooping = true
            run.isStepDone = false
            perform(run, on: id) { [self, rest] in
                if run.isLooping { run.isStepDone = true } else { perform(run, onAll: rest, reply) }
            }
            run.isLooping = false
            // Whoever finishes the step goes on with the next.
            guard run.isStepDone else { return }
        }
        answerSeveral(run, reply)
    }

    private func performOnAll(_ run: CommandRun, _ reply: @escaping Reply<CommandAnswer>) {
        // What nobody works on is paused already.
        if run.command == .pause { return performOnAllHeld(run, reply) }
        adoptThoseWithoutOwner(run) { [self] in performOnAllHeld(run, reply) }
    }

    private func performOnAllHeld(_ run: CommandRun, _ reply: @escaping Reply<CommandAnswer>) {
        let ids = downloads.values.filter { !$0.record.state.isFinal }.map(\.id).sorted()
        perform(run, onAll: ids[...], reply)
    }

    /// Everything paused that no living process owns becomes ours.
    private func adoptThoseWithoutOwner(_ run: CommandRun, _ body: @escaping () -> Void) {
        submit(.adoptAll(AdoptionFilter(states: [.queued, .active, .waiting, .paused]))) { [self] outcome in
            guard case .adopted(let loaded, let isComplete) = outcome else {
                if case .failed(let error) = outcome { run.listingFailure = .storageFailure(message: error.message) }
                return body()
            }
            for record in loaded { _ = hold(record) }
            if isComplete { body() } else { adoptThoseWithoutOwner(run, body) }
        }
    }

    /// Performs on one download, taking it over first where it is nobody's.
    ///
    /// - Parameter mayAsk: false once a living owner has been asked for it in vain.
    private func perform(
        _ run: CommandRun, on id: String, mayAsk: Bool = true, then next: @escaping () -> Void
    ) {
        if let download = downloads[id] {
            if download.isPublishing {
                // The rename is under way: waits for what comes of it.
                return download.afterPublishing.append { [self] in perform(run, on: id, then: next) }
            }
            if download.record.state.isFinal, !download.isUnsaved {
                // Its end is on its way to the client; after that the record is the store's, to be taken over anew.
                return answer { [self] in perform(run, on: id, then: next) }
            }
            return apply(run, to: download, then: next)
        }
        submit(.get(id: id)) { [self] outcome in
            switch outcome {
            case .loaded(let loaded) where loaded.ownership == .other && mayAsk:
                askForHandover(id) { [self] _ in perform(run, on: id, mayAsk: false, then: next) }
            case .loaded(let loaded): applyToStored(run, loaded, then: next)
            case .notFound:
                run.fail(id, .downloadNotFound(id: id))
                next()
            case .failed(let error):
                run.fail(id, .storageFailure(message: error.message))
                next()
            default: next()
            }
        }
    }

    private func applyToStored(_ run: CommandRun, _ loaded: LoadedRecord, then next: @escaping () -> Void) {
        let record = loaded.record
        run.matchedCount += 1
        // One that is over has no owner but for the moment in which its partial is removed.
        if loaded.ownership == .other, !record.state.isFinal {
            run.fail(record.id, .lockedElsewhere(id: record.id))
            return next()
        }
        switch DownloadStateMachine.apply(run.command, to: DownloadStatus(record.state, reason: record.reason)) {
        case .unchanged:
            run.snapshot = snapshot(of: loaded)
            guard run.command == .pause, record.intent == .run, record.reason == .interrupted else { return next() }
            keepPaused(record.id, run, then: next)
        case .invalid, .gone:
            run.fail(record.id, .invalidState(id: record.id, state: record.state, command: run.command))
            next()
        case .change:
            submit(.adopt(id: record.id)) { [self] outcome in
                switch outcome {
                case .loaded(let adopted):
                    // `apply` counts it again.
                    run.matchedCount -= 1
                    applyToAdopted(run, adopted, then: next)
                case .ownedElsewhere:
                    run.fail(record.id, .lockedElsewhere(id: record.id))
                    next()
                default:
                    run.fail(record.id, .storageFailure(message: "the download could not be taken over"))
                    next()
                }
            }
        }
    }

    /// A failed download has let go of its destination: another one may hold it by now.
    private func applyToAdopted(_ run: CommandRun, _ adopted: LoadedRecord, then next: @escaping () -> Void) {
        let id = adopted.record.id
        guard run.command == .resume, adopted.record.state == .failed, let path = adopted.record.path else {
            return apply(run, to: hold(adopted), then: next)
        }
        submit(.claimDestination(id: id, path: path)) { [self] outcome in
            if case .saved = outcome { return apply(run, to: hold(adopted), then: next) }
            if case .destinationConflict(let holder) = outcome {
                run.fail(id, .destinationHeld(path: path, id: holder))
            } else {
                run.fail(id, .storageFailure(message: "the download could not be taken over"))
            }
            submit(.release(id: id)) { _ in }
            next()
        }
    }

    private func apply(_ run: CommandRun, to download: Download, then next: @escaping () -> Void) {
        let record = download.record
        run.matchedCount += 1
        switch DownloadStateMachine.apply(run.command, to: DownloadStatus(record.state, reason: record.reason)) {
        case .unchanged:
            noteIntent(run, download)
            run.snapshot = snapshot(of: download)
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

    /// Makes a pause by interruption the user's own; to whom it was paused before and is after.
    private func keepPaused(_ id: String, _ run: CommandRun, then next: @escaping () -> Void) {
        submit(.adopt(id: id)) { [self] outcome in
            switch outcome {
            case .loaded(let adopted):
                let download = hold(adopted)
                download.record.reason = .user
                noteIntent(run, download)
                run.snapshot = snapshot(of: download)
            case .ownedElsewhere: run.fail(id, .lockedElsewhere(id: id))
            default: run.fail(id, .storageFailure(message: "the download could not be taken over"))
            }
            next()
        }
    }

    /// A pause of what an interruption has paused changes nothing now, but it is not to go on by itself any more.
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
            // A failure on the way to the disk came first: judge the command anew.
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
            // The bytes went with the failure; the transfer that replaces them says why.
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

    /// Changes the state; the event follows the answer.
    private func changed(_ run: CommandRun, _ download: Download, to status: DownloadStatus) {
        change(download, to: status.state, reason: status.reason, phase: status.phase, isTold: false)
        let snapshot = snapshot(of: download)
        run.snapshot = snapshot
        run.changed.append(download)
        run.afterAnswer.append { [self] in outbox.append(.event(snapshot)) }
    }
}

/// One command on its way through its downloads.  Isolation: the engine.
final class CommandRun {
    let command: DownloadCommand
    let deletesPartial: Bool
    /// The loop over the downloads waits for a step to return, and whether that one was done at once.
    var isLooping = false
    var isStepDone = false
    var matchedCount = 0
    var changed: [Download] = []
    /// Downloads whose state stays, and whose record says more than before.
    var noted: [Download] = []
    /// Set when those that nobody owns could not be taken over.
    var listingFailure: EngineError?
    private(set) var errors: [(id: String, error: EngineError)] = []
    /// The last download met, as it is after the command.
    var snapshot: DownloadSnapshot?
    /// What may only happen once the answer is on its way: events, and what causes further ones.
    var afterAnswer: [() -> Void] = []

    init(command: DownloadCommand, deletesPartial: Bool) {
        self.command = command
        self.deletesPartial = deletesPartial
    }

    func fail(_ id: String, _ error: EngineError) {
        if errors.count < Limits.bulkErrorCount { errors.append((id, error)) }
    }

    /// Set when a record that the command changed could not be saved, or not all of them could be read.
    var storageFailure: EngineError? {
        if let listingFailure { return listingFailure }
        let isUnsaved = (changed + noted).contains { $0.isUnsaved }
        return isUnsaved ? .storageFailure(message: "the record could not be saved") : nil
    }

    func endAnswered() {
        for body in afterAnswer { body() }
        afterAnswer.removeAll()
    }
}
