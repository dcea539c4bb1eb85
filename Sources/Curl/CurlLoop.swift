package import Platform
internal import Synchronization

/// An actor that a `CurlLoop` drives and whose executor is that loop. All three functions run on the loop thread.
package protocol LoopOwner: Actor {
    /// Does the pending work; returns how many milliseconds the loop may sleep (negative: no limit).
    func turn() -> Int32
    /// Sleeps until there is something to do, the descriptor is readable, or the time is up.
    func wait(wakeUp: Int32, timeoutMilliseconds: Int32)
    /// Releases everything; neither of the other two functions is called afterwards.
    func close()
}

/// A thread that runs libcurl and the actor pinned to it.  Isolation: any thread, unless stated otherwise.
///
/// ```
/// package actor Engine: LoopOwner {
///     package nonisolated let loop: CurlLoop
///     package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
/// ```
/// The actor must keep a reference to the loop: the runtime does not. To call the actor outside a task on the loop
/// thread, use `assumeIsolated`; from another thread, put work into a `Mailbox` that wakes the loop, or call from a
/// task.
///
/// Tasks may still call the actor after the loop has ended: their jobs then run on the global executor, one at a time,
/// so that none of them hangs; the actor has been closed by then.
package final class CurlLoop: SerialExecutor {
    /// The most actor jobs between two turns, so that neither callers nor transfers starve.
    package static let maxJobsPerTurn = 256
    /// The most rounds of jobs before `close`, so that callers cannot keep the loop running.
    package static let maxClosingRounds = 64
    /// The longest sleep, in case a wake-up is lost.
    package static let maxSleepMilliseconds: Int32 = 1_000

    private enum Phase {
        case idle
        case running
        case stopping
        case stopped
    }
    private struct Inbox {
        var jobs: [UnownedJob] = []
        var phase = Phase.idle
        /// True while a task runs the jobs that were enqueued after the end.
        var hasLateRunner = false
    }
    private let inbox = Guarded(Inbox())
    /// The thread that runs the actor's code now; 0 for none, because thread identities are reused.
    private let threadID = Atomic<UInt>(0)
    private let wakeUp: WakeUp

    package init() throws(Errno) {
        wakeUp = try WakeUp()
    }

    /// Runs the owner on a new thread until `stop`; call once.  Join the thread before the process ends.
    package func start(_ owner: some LoopOwner) throws(Errno) -> Thread {
        let isFirst = inbox.withLock { inbox in
            defer { inbox.phase = .running }
            return inbox.phase == .idle
        }
        precondition(isFirst, "a loop is started once")
        do throws(Errno) {
            return try Thread(name: "loop") { [self] in run(owner) }
        } catch {
            inbox.withLock { $0.phase = .idle }
            throw error
        }
    }

    /// Ends the current sleep, or the next one.
    package func wake() { wakeUp.signal() }

    /// Ends the loop after the pending jobs, one more turn and `close`.
    package func stop() {
        inbox.withLock { if $0.phase == .running { $0.phase = .stopping } }
        wakeUp.signal()
    }

    package var isOnLoopThread: Bool { threadID.load(ordering: .relaxed) == Thread.current }

    // MARK: SerialExecutor

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let (isFirst, needsLateRunner) = inbox.withLock { inbox in
            inbox.jobs.append(job)
            let needsLateRunner = inbox.phase == .stopped && !inbox.hasLateRunner
            if needsLateRunner { inbox.hasLateRunner = true }
            return (inbox.jobs.count == 1, needsLateRunner)
        }
        if needsLateRunner {
            // Runs in another task: the caller may hold a lock that the job needs.
            Task.detached { [self] in runLateJobs() }
        } else if isFirst && !isOnLoopThread {
            wakeUp.signal()
        }
    }

    package func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        unsafe UnownedSerialExecutor(ordinary: self)
    }

    // Both are needed for `assumeIsolated` outside a task.
    package func isIsolatingCurrentContext() -> Bool? { isOnLoopThread }
    package func checkIsolated() { precondition(isOnLoopThread, "not on the loop thread") }

    // MARK: The thread

    private func run(_ owner: some LoopOwner) {
        threadID.store(Thread.current, ordering: .relaxed)
        while true {
            runJobs()
            let timeout = owner.assumeIsolated { $0.turn() }
            let (hasJobs, isStopping) = inbox.withLock { (!$0.jobs.isEmpty, $0.phase == .stopping) }
            if isStopping { break }
            let longest = timeout < 0 ? Self.maxSleepMilliseconds : min(timeout, Self.maxSleepMilliseconds)
            let descriptor = wakeUp.raw
            owner.assumeIsolated { $0.wait(wakeUp: descriptor, timeoutMilliseconds: hasJobs ? 0 : longest) }
            // Drained before the inbox and the owner's mailboxes are read: a later signal ends the next sleep.
            wakeUp.drain()
        }
        runLastJobs()
        owner.assumeIsolated { owner in
            _ = owner.turn()
            owner.close()
        }
        threadID.store(0, ordering: .relaxed)
        let needsLateRunner = inbox.withLock { inbox in
            inbox.phase = .stopped
            inbox.hasLateRunner = !inbox.jobs.isEmpty
            return inbox.hasLateRunner
        }
        if needsLateRunner { Task.detached { [self] in runLateJobs() } }
    }

    /// Runs jobs in place of the loop thread after it has ended, as long as there are any.
    private func runLateJobs() {
        threadID.store(Thread.current, ordering: .relaxed)
        var isDone = false
        while !isDone {
            runJobs()
            isDone = inbox.withLock { inbox in
                guard inbox.jobs.isEmpty else { return false }
                threadID.store(0, ordering: .relaxed)
                inbox.hasLateRunner = false
                return true
            }
        }
    }

    private func runLastJobs() {
        for _ in 0..<Self.maxClosingRounds where !inbox.withLock({ $0.jobs.isEmpty }) { runJobs() }
    }

    private func runJobs() {
        let batch = inbox.withLock { inbox in
            let batch = Array(inbox.jobs.prefix(Self.maxJobsPerTurn))
            inbox.jobs.removeFirst(batch.count)
            return batch
        }
        let executor = unsafe asUnownedSerialExecutor()
        for job in batch { unsafe job.runSynchronously(on: executor) }
    }
}
