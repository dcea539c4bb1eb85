internal import Platform

/// Work that one thread does, in batches of all that waits.
protocol LaneWorker: SendableMetatype {
    associatedtype Job: Sendable
    mutating func perform(_ jobs: [Job])
}

/// A thread that works off a queue in order.
///
/// The queue needs no limit of its own: a job holds a buffer from the engine's bounded pool or stands for one step of
/// one of its bounded active downloads.
final class Lane<Worker: LaneWorker>: Sendable {
    private let mailbox: Mailbox<Worker.Job>
    private let thread: Thread

    /// - Parameter makeWorker: called on the new thread, which the worker never leaves.
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

    /// Works off what is queued, then ends the thread.
    func finish() {
        mailbox.close()
        thread.join()
    }
}
