internal import Platform

/// A path lane: inspects destinations, and opens files whose volume is not known yet.
struct PathWorker: LaneWorker {
    let results: Mailbox<FileResult>
    let progress: PathProgress

    func perform(_ jobs: [TicketedJob]) {
        for job in jobs {
            progress.begin()
            results.send(job.performed())
            progress.end()
        }
    }
}

/// Whether a path lane is stuck.  Isolation: any thread.
final class PathProgress: Sendable {
    /// A longer inspection hangs or waits for a disk to spin up: others must not wait for it.
    private static let patienceNanoseconds: Int64 = 250_000_000

    private let beganAt = Guarded<Int64?>(nil)

    func begin() { beganAt.withLock { $0 = monotonicNanoseconds() } }
    func end() { beganAt.withLock { $0 = nil } }

    var isStuck: Bool {
        guard let began = beganAt.withLock({ $0 }) else { return false }
        return monotonicNanoseconds() - began > Self.patienceNanoseconds
    }
}
