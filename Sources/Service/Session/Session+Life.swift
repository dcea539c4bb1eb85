internal import Core
internal import Engine
internal import JSON
internal import Platform
internal import RPC

/// The progress of ending the session.
struct Leaving {
    enum Checkpoint {
        case none
        case running
        case done
    }
    /// The exit code after the drain; nil if there is no drain.
    var drain: LifeCycle.Verdict?
    /// A `shutdown` that waits until all downloads are settled.
    var shutdown: Call?
    /// The action after `exit` or the end of input, done when the earlier requests are answered or time is up.
    var orderly: (action: LifeCycle.Action, deadline: Int64)?
    var checkpoint = Checkpoint.none
    /// Actions to perform after the checkpoint.
    var afterCheckpoint: [() -> Void] = []
    var hasEnded = false

    /// Something must be done once all downloads are settled.
    var isWaitingForQuiet: Bool { drain != nil || shutdown != nil }
}

// How the session ends: performs the decisions of `LifeCycle`.
extension Session {
    /// How long `exit` and the end of input wait for answers to earlier requests.
    private static let orderlyLimitNanoseconds: Int64 = 500_000_000

    func receiveFate(_ message: Inbound, _ engine: isolated DownloadEngine) {
        switch message {
        case .endOfInput:
            log.debug("end of input")
            actInOrder(life.endOfInput(hasBackground: hasBackground), engine)
        case .hostGone:
            log.info("the host's process has ended")
            act(life.hostGone(hasBackground: hasBackground), engine)
        case .outputGone: act(life.hostGone(hasBackground: hasBackground), engine)
        case .signal(let signal):
            log.info("got signal \(signal.rawValue)")
            act(life.signal(signal), engine)
        case .unframeable(let reason):
            log.error(reason.diagnostic)
            act(life.fail(code: ExitCode.unreadableInput), engine)
        case .inputFailed(let error):
            log.error("cannot read standard input: \(error.message)")
            act(life.fail(code: ExitCode.inputOutput), engine)
        case .outputFailed(.pipe): act(life.hostGone(hasBackground: hasBackground), engine)
        case .outputFailed(let error):
            log.error("cannot write standard output: \(error.message)")
            act(life.fail(code: ExitCode.inputOutput), engine)
        case .incoming, .messageTooLong, .framing, .nudge: break
        }
    }

    func act(_ action: LifeCycle.Action, _ engine: isolated DownloadEngine) {
        switch action {
        case .nothing: break
        case .drain(let verdict, let isMuted):
            if isMuted {
                failAllWaits(.shuttingDown)
                output.beginClosing()
                engine.beginYielding()
            }
            // Without a policy, only background downloads continue after the host has exited.
            let policy = configuration.hostExitPolicy
            if policy == .suspend || (policy == nil && isMuted) {
                engine.letGo(ids: engine.heldIDs.filter { engine.snapshot(id: $0)?.isBackground != true })
            }
            leaving.drain = verdict
        case .checkpoint(let verdict):
            leaving.drain = nil
            // From here on the process ends in time, whatever happens.
            watch.expectEnd(code: exitCode(verdict))
            checkpointAndEnd(verdict, engine)
        }
    }

    /// As `act`, but first answers earlier requests, if that does not take long.
    func actInOrder(_ action: LifeCycle.Action, _ engine: isolated DownloadEngine) {
        switch action {
        case .checkpoint(let verdict) where pendingCount > 0: watch.expectEnd(code: exitCode(verdict))
        case .drain(_, isMuted: true) where pendingCount > 0: break
        case .nothing, .checkpoint, .drain: return act(action, engine)
        }
        leaving.orderly = (action, monotonicNanoseconds() + Self.orderlyLimitNanoseconds)
        nudge()
    }

    private func checkpointAndEnd(_ verdict: LifeCycle.Verdict, _ engine: isolated DownloadEngine) {
        leaving.orderly = nil
        failAllWaits(.shuttingDown)
        if let call = leaving.shutdown {
            leaving.shutdown = nil
            finishShutdown(call, engine)
        }
        // Pending requests are still answered.
        checkpoint(engine) { [self] in
            inOrder(engine) { session in
                // Waits that were queued behind earlier requests.
                session.failAllWaits(.shuttingDown)
                session.end(verdict)
            }
        }
    }

    func shutDown(_ mode: ShutdownMode, _ call: Call, _ engine: isolated DownloadEngine) {
        life.shutDown()
        switch mode {
        case .suspend: inOrder(engine) { session in session.suspendForShutdown(call, engine) }
        case .finish:
            leaving.shutdown = call
            nudge()
        case .cancel:
            // Only when earlier requests are answered is it known what they started.
            inOrder(engine) { session in session.cancelAll(call, engine) }
        }
    }

    /// Background downloads continue; the process ends when they are settled.
    private func suspendForShutdown(_ call: Call, _ engine: isolated DownloadEngine) {
        guard downloads.hasUnsettledBackground else { return finishShutdown(call, engine) }
        let others = engine.heldIDs.filter { id in
            engine.snapshot(id: id).map { !$0.isBackground && !$0.state.isFinal } ?? false
        }
        engine.suspend(ids: others) { [self] in
            failAllWaits(.shuttingDown)
            inOrder(engine) { session in session.answerNull(call) }
        }
    }

    private func cancelAll(_ call: Call, _ engine: isolated DownloadEngine) {
        let held = engine.heldIDs.filter { engine.snapshot(id: $0)?.state.isFinal == false }
        // Downloads that another process runs are not canceled.
        let followed = downloads.entries.filter { !$0.value.isElsewhere }.map(\.key)
        engine.perform(.cancel, on: .several((held + followed).sorted()), deletesPartial: true) { [self] result in
            if case .failure(let error) = result { fail(call, RPCError(error)) }
        }
        // The events of the canceled downloads are sent first.
        inOrder(engine) { session in session.finishShutdown(call, engine) }
    }

    private func finishShutdown(_ call: Call, _ engine: isolated DownloadEngine) {
        checkpoint(engine) { [self] in
            failAllWaits(.shuttingDown)
            inOrder(engine) { session in session.answerNull(call) }
        }
    }

    /// Performs the actions that wait until all downloads are settled, if they are.
    ///
    /// - Returns: when the next download counts as settled because time has passed.
    func checkLife(now: Int64, _ engine: isolated DownloadEngine) -> Int64? {
        if let (action, deadline) = leaving.orderly {
            guard pendingCount == 0 || now >= deadline else { return deadline }
            leaving.orderly = nil
            // The deadline for the process is already set.
            if case .checkpoint(let verdict) = action { checkpointAndEnd(verdict, engine) } else { act(action, engine) }
        }
        guard leaving.isWaitingForQuiet else { return nil }
        if let call = leaving.shutdown, pendingCount <= 1, downloads.areSettled(now: now) {
            leaving.shutdown = nil
            finishShutdown(call, engine)
        }
        // After a `shutdown` no download runs any more that could become settled.
        let isOver = leaving.checkpoint == .done || (downloads.areSettled(now: now) && areWaitsStuck(now: now))
        if let verdict = leaving.drain, pendingCount == 0, isOver {
            leaving.drain = nil
            checkpointAndEnd(verdict, engine)
        }
        return downloads.nextSettleTime(now: now)
    }

    /// Stops all downloads and keeps their bytes; done only once.
    private func checkpoint(_ engine: isolated DownloadEngine, then: @escaping () -> Void) {
        if leaving.checkpoint == .done { return then() }
        leaving.afterCheckpoint.append(then)
        if leaving.checkpoint == .running { return }
        leaving.checkpoint = .running
        engine.suspendAll { [self] in
            leaving.checkpoint = .done
            let bodies = leaving.afterCheckpoint
            leaving.afterCheckpoint = []
            for body in bodies { body() }
        }
    }

    private func end(_ verdict: LifeCycle.Verdict) {
        if leaving.hasEnded { return }
        leaving.hasEnded = true
        sendAllDeferredAnswers()
        watch.end(code: exitCode(verdict))
    }

    private func exitCode(_ verdict: LifeCycle.Verdict) -> Int32 {
        switch verdict {
        case .code(let code): code
        case .byOutcome: downloads.areAllCompleted && !hasFailed ? ExitCode.success : ExitCode.failure
        }
    }
}
