internal import Platform

/// Work for one thread, in batches of all pending jobs.
protocol LaneWorker: SendableMetatype {
    associatedtype Job: Sendable
    mutating func perform(_ jobs: [Job])
}

/// A thread that works through a queue in order.
///
/// The queue needs no limit: each job either has a buffer from the engine's bounded pool or is one step of one of its
/// active downloads, which are bounded too.
final class Lane<Worker: LaneWorker>: Sendable {
    private let mailbox: Mailbox<Worker.Job>
    private let thread: Thread

    /// - Parameter makeWorker: called on the new thread; the worker stays on it.
    init(name: String, _ makeWorker: @escaping @Sendable () -> Worker) throws(Errno) {
        let mailbox = try Mailbox<Worker.Job>()
        thread = try Thread(name: name) {
            var worker = makeWorker()
            while let jobs = mailbox.waitAndTakeAll() { worker.perform(jobs) }
        }
        self.mailbox = mailbox
    }

    deinit { mailbox.close() }

    func submit(_ job: Worker.Job) {
        mailbox.send(job)
    }

    /// Finishes the queued jobs, then ends the thread.
    func finish() {
        mailbox.close()
        thread.join()
    }
}
