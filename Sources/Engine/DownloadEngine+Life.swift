internal import Core
internal import Curl
internal import Files
internal import Platform
internal import Store

/// Beginning and end: interrupted downloads, settings, and stopping.
extension DownloadEngine {
    /// How long an exit waits for bytes on the way to the disk.
    static let suspendLimitNanoseconds: Int64 = 400_000_000

    /// Takes over and resumes interrupted downloads; answers with their number.
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
            answer { reply(.failure(EngineError(error))) }
        } else {
            answer { reply(.success(count)) }
        }
        // The answer is sent before the events that it causes.
        for download in resumed {
            tell(download)
            enqueue(download)
        }
        unblock()
    }

    package func configure(_ settings: EngineSettings) {
        self.settings = settings
    }

    /// Interrupts and releases these downloads; the others continue. Answers when everything is durable.
    ///
    /// Later requests that change something are refused with `.shuttingDown`.
    package func suspend(ids: [String], reply: @escaping () -> Void) {
        isClosed = true
        let run = SuspendRun(waitingCount: ids.count + 1) { [self] in answer(reply) }
        for id in ids {
            let once = OneCall<Void> { run.oneIsQuiet() }
            letGo(id) { once(()) }
            // A download that is being renamed, or whose disk hangs, is not waited for.
            timers.add(.run { once(()) }, due: now + Self.suspendLimitNanoseconds)
        }
        run.oneIsQuiet()
    }

    /// Stops all transfers, writes gathered bytes and commits the marks.
    ///
    /// The records keep their states: after this process has exited they are shown as interrupted. Later requests that
    /// change something are refused with `.shuttingDown`.
    package func suspendAll(reply: @escaping () -> Void) {
        isSuspended = true
        isClosed = true
        // The last chance to save what could not be saved before.
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

    /// Runs a body when all partials to be deleted are deleted, or when that takes too long.
    private func whenDiscarded(_ body: @escaping () -> Void) {
        let once = OneCall<Void> { body() }
        guard discards.whenAllEnded({ once(()) }) else { return once(()) }
        timers.add(.run { once(()) }, due: now + Self.suspendLimitNanoseconds)
    }
}

/// The downloads that are resumed after interruptions, collected page by page.  Isolation: the engine.
private final class ResumeRun {
    var resumed: [Download] = []
}

/// Counts downloads with bytes on the way to the disk while all are being suspended.  Isolation: the engine.
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
