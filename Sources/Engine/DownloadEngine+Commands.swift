package import Core
internal import Store

/// pause, resume and cancel: one after the other, each with the state that the earlier ones left.
extension DownloadEngine {
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
                if isClosed { return answer { reply(.failure(.shuttingDown)) } }
                let run = CommandRun(command: command, deletesPartial: deletesPartial)
                pipeline.block()
                switch target {
                case .one(let id): perform(run, on: id) { [self] in answerOne(run, reply) }
                case .several(let ids): perform(run, onAll: distinct(ids)[...], reply)
                case .all: performOnAll(run, reply)
                }
            })
    }

    /// Runs the requests that may run now.
    ///
    /// If called from within a step it returns at once: the loop that runs the step continues. So thousands of requests
    /// that are answered at once do not need a deeper stack than one.
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

    /// Ends a step that has called `pipeline.block`, and lets the requests behind it begin.
    func unblock() {
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
            reply(.success(.one(asCommitted(snapshot), isChanged: !run.changed.isEmpty)))
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

    /// Each id once, at its first position. If the command has already ended a download, its event is queued after the
    /// answer; looking it up again would wait for that event for ever.
    private func distinct(_ ids: [String]) -> [String] {
        var seen: Set<String> = []
        return ids.filter { seen.insert($0).inserted }
    }

    private func perform(_ run: CommandRun, onAll ids: ArraySlice<String>, _ reply: @escaping Reply<CommandAnswer>) {
        var rest = ids
        // A loop, not a recursion, because there may be a hundred thousand downloads.
        while let id = rest.popFirst() {
            run.isLooping = true
            run.isStepDone = false
            perform(run, on: id) { [self, rest] in
                if run.isLooping { run.isStepDone = true } else { perform(run, onAll: rest, reply) }
            }
            run.isLooping = false
            // Whoever completes the step continues with the next.
            guard run.isStepDone else { return }
        }
        answerSeveral(run, reply)
    }

    private func performOnAll(_ run: CommandRun, _ reply: @escaping Reply<CommandAnswer>) {
        // A pause by the user changes only downloads that an interruption has paused.
        let filter =
            run.command == .pause
            ? AdoptionFilter.interrupted : AdoptionFilter(states: [.queued, .active, .waiting, .paused])
        adoptThoseWithoutOwner(run, filter) { [self] in performOnAllHeld(run, reply) }
    }

    private func performOnAllHeld(_ run: CommandRun, _ reply: @escaping Reply<CommandAnswer>) {
        let ids = downloads.values.filter { !$0.record.state.isFinal }.map(\.id).sorted()
        perform(run, onAll: ids[...], reply)
    }

    /// Takes over all downloads in these states that no running process owns.
    private func adoptThoseWithoutOwner(
        _ run: CommandRun, _ filter: AdoptionFilter, _ body: @escaping () -> Void
    ) {
        adoptAll(filter) { [self] adoption in
            switch adoption {
            case .page(let loaded): for record in loaded { _ = hold(record) }
            case .end(let error):
                run.listingFailure = error.map { .storageFailure(message: $0.message) }
                body()
            }
        }
    }
}

/// One command while it is performed on its downloads.  Isolation: the engine.
final class CommandRun {
    let command: DownloadCommand
    let deletesPartial: Bool
    /// Whether the loop over the downloads waits for a step to return, and whether that step is already done.
    var isLooping = false
    var isStepDone = false
    var matchedCount = 0
    var changed: [Download] = []
    /// Downloads whose state stays, but whose record changes.
    var noted: [Download] = []
    /// Set if downloads without owner could not be taken over.
    var listingFailure: EngineError?
    private(set) var errors: [(id: String, error: EngineError)] = []
    /// The last download, after the command.
    var snapshot: DownloadSnapshot?
    /// Done after the answer is queued: events, and actions that cause further ones.
    var afterAnswer: [() -> Void] = []

    init(command: DownloadCommand, deletesPartial: Bool) {
        self.command = command
        self.deletesPartial = deletesPartial
    }

    func fail(_ id: String, _ error: EngineError) {
        if errors.count < Limits.bulkErrorCount { errors.append((id, error)) }
    }

    /// Set if a record that the command changed could not be saved, or not all records could be read.
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
