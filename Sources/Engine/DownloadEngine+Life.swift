internal import Core
internal import Curl
internal import Files
internal import Platform
internal import Store

/// Beginning and end: what interruptions left, settings, and letting go.
extension DownloadEngine {
    /// How long an exit waits for bytes on their way to the disk.
    static let suspendLimitNanoseconds: Int64 = 400_000_000

    /// Takes over what interruptions stopped and lets it go on; answers with how many.
    package func resumeInterrupted(reply: @escaping Reply<Int>) {
        pipeline.append(
            .run { [self] in
                if isClosed { return answer { reply(.failure(.shuttingDown)) } }
                pipeline.block()
                takeOverInterrupted(reply)
            })
    }

    private func takeOverInterrupted(_ reply: @escaping Reply<Int>) {
        let run = ResumeRun()
        adoptAll(.interrupted) { [self] adoption in
            switch adoption {
            case .page(let loaded):
                for record in loaded {
                    let download = hold(record)
                    guard download.record.state == .paused, download.record.intent == .run else { continue }
                    change(download, to: .queued, isTold: false)
                    run.resumed.append(download)
                }
            case .end(let error): goOn(run.resumed, error, reply)
            }
        }
    }

    private func goOn(_ resumed: [Download], _ error: StoreError?, _ reply: @escaping Reply<Int>) {
        let count = resumed.count
        if let error {
            answer { reply(.failure(.storageFailure(message: error.message))) }
        } else {
            answer { reply(.success(count)) }
        }
        // The answer comes before the events that it causes.
        for download in resumed {
            tell(download)
            enqueue(download)
        }
        pipeline.unblock()
        pumpPipeline()
    }

    package func configure(_ settings: EngineSettings) {
        self.settings = settings
    }

    /// Interrupts these downloads and gives them up, and lets the others go on; answers when all is durable.
    ///
    /// Later requests that change something are refused with `.shuttingDown`.
    package func suspend(ids: [String], reply: @escaping () -> Void) {
        isClosed = true
        let run = SuspendRun(waitingCount: ids.count + 1) { [self] in answer(reply) }
        for id in ids {
            let once = OneCall<Void> { run.oneIsQuiet() }
            letGo(id) { once(()) }
            // One that is being named, or whose disk hangs, is not waited for.
            timers.add(.run { once(()) }, due: now + Self.suspendLimitNanoseconds)
        }
        run.oneIsQuiet()
    }

    /// Stops all transfers, hands what is gathered to the disk and commits the marks.
    ///
    /// The records keep their states: once this process is gone they read as interrupted. Later requests that change
    /// something are refused with `.shuttingDown`.
    package func suspendAll(reply: @escaping () -> Void) {
        isSuspended = true
        isClosed = true
        // The last chance of what could not be saved before.
        retryCommit()
        let running = downloads.values.filter { $0.exchange != nil }
        for download in running { stop(download) }
        let run = SuspendRun(waitingCount: downloads.count + 1) { [self] in answer(reply) }
        for download in downloads.values {
            whenQuiet(download) { [self] in keepName(download) { run.oneIsQuiet() } }
            limitQuietWait(download, nanoseconds: Self.suspendLimitNanoseconds)
        }
        whenDiscarded { run.oneIsQuiet() }
    }

    /// Runs a body when no partial is about to be removed any more, or when that takes too long.
    private func whenDiscarded(_ body: @escaping () -> Void) {
        guard discardsPending > 0 else { return body() }
        let once = OneCall<Void> { body() }
        onDiscarded.append { once(()) }
        timers.add(.run { once(()) }, due: now + Self.suspendLimitNanoseconds)
    }
}

/// What goes on after interruptions, gathered page by page.  Isolation: the engine.
private final class ResumeRun {
    var resumed: [Download] = []
}

/// Counts the downloads whose bytes are still on their way while all are being suspended.  Isolation: the engine.
private final class SuspendRun {
    private var waitingCount: Int
    private var body: (() -> Void)?

    init(waitingCount: Int, then body: @escaping () -> Void) {
        self.waitingCount = waitingCount
        self.body = body
    }

    func oneIsQuiet() {
        waitingCount -= 1
        guard waitingCount == 0 else { return }
        body?()
        body = nil
    }
}
