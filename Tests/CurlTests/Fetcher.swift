import Core
import Curl
import Platform

/// The result of one transfer.
struct Fetched: Sendable {
    /// Nil when it was cancelled.
    var outcome: TransferOutcome?
    var head: ResponseHead?
    var body: [UInt8]
    var metrics: TransferMetrics
    var exceededLimit: Bool
    var pauseCount: Int

    var failure: DownloadFailure? {
        if case .failed(let failure) = outcome { failure } else { nil }
    }
}

/// Runs transfers to their end, as the engine does, but into memory.
actor Fetcher: LoopOwner {
    nonisolated let loop: CurlLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    struct Plan: Sendable {
        var bufferCount = 2
        var bufferByteCount = 64 * 1024
        var bodyLimit: Int64?
        /// Sets the limit only after this many body bytes.
        var limitsAfterByteCount: Int64 = 0
        /// Returns taken buffers only in the next turn, as a slow disk does.
        var returnsBuffersLater = false
        /// Takes nothing before the end.
        var leavesBuffers = false
    }

    private final class Job {
        let transfer: Transfer
        let plan: Plan
        var body: [UInt8] = []
        var pauseCount = 0
        var kept: [IOBuffer] = []
        var continuation: CheckedContinuation<Fetched, Never>?

        init(_ transfer: Transfer, _ plan: Plan) {
            self.transfer = transfer
            self.plan = plan
        }
    }

    private let session: MultiSession
    private var jobs: [Int: Job] = [:]
    private var watchers: [(tag: Int, byteCount: Int64, continuation: CheckedContinuation<Void, Never>)] = []
    private var pauseWatchers: [(tag: Int, continuation: CheckedContinuation<Void, Never>)] = []

    init(loop: CurlLoop) throws {
        self.loop = loop
        session = try MultiSession()
    }

    var activeCount: Int { session.activeCount }

    func fetch(_ request: TransferRequest, _ plan: Plan = Plan()) async throws -> Fetched {
        let transfer = try Transfer(request)
        let job = Job(transfer, plan)
        for _ in 0..<plan.bufferCount { transfer.give(IOBuffer(capacity: plan.bufferByteCount)) }
        if let limit = plan.bodyLimit, plan.limitsAfterByteCount == 0 { transfer.limitBody(to: limit) }
        try session.add(transfer)
        precondition(jobs[request.tag] == nil, "tags tell the jobs apart")
        jobs[request.tag] = job
        return await withCheckedContinuation { job.continuation = $0 }
    }

    func cancel(tag: Int) {
        guard let job = jobs[tag] else { return }
        session.cancel(job.transfer)
        end(job)
    }

    /// Returns once the transfer has received this many body bytes.
    func waitForBytes(tag: Int, _ byteCount: Int64) async {
        await withCheckedContinuation { watchers.append((tag, byteCount, $0)) }
    }

    /// Returns once the transfer is paused.
    func waitForPause(tag: Int) async {
        await withCheckedContinuation { pauseWatchers.append((tag, $0)) }
    }

    /// Gives the transfer one more buffer and resumes it.
    func give(tag: Int, byteCount: Int) {
        jobs[tag]?.transfer.give(IOBuffer(capacity: byteCount))
        jobs[tag]?.transfer.resumeReceiving()
    }

    func turn() -> Int32 {
        do { try session.perform() } catch { preconditionFailure("\(error)") }
        for job in jobs.values where !job.kept.isEmpty {
            for buffer in job.kept { job.transfer.give(buffer) }
            job.kept = []
            job.transfer.resumeReceiving()
        }
        for transfer in session.takeNews() {
            if let job = jobs[transfer.tag] { visit(job) }
        }
        notifyWatchers()
        return jobs.values.contains { !$0.kept.isEmpty } ? 0 : -1
    }

    private func notifyWatchers() {
        watchers.removeAll { watcher in
            guard let job = jobs[watcher.tag], job.transfer.receivedByteCount >= watcher.byteCount else { return false }
            watcher.continuation.resume()
            return true
        }
        pauseWatchers.removeAll { watcher in
            guard let job = jobs[watcher.tag], job.transfer.isPaused else { return false }
            watcher.continuation.resume()
            return true
        }
    }

    private func visit(_ job: Job) {
        let transfer = job.transfer
        if let limit = job.plan.bodyLimit, job.plan.limitsAfterByteCount > 0,
            transfer.receivedByteCount >= job.plan.limitsAfterByteCount
        {
            transfer.limitBody(to: limit)
        }
        if transfer.isPaused { job.pauseCount += 1 }
        if !job.plan.leavesBuffers { take(job) }
        if transfer.isFinished { end(job) }
    }

    private func take(_ job: Job) {
        let transfer = job.transfer
        var taken = transfer.takeFullBuffers()
        if transfer.isPaused, let current = transfer.takeCurrentBuffer() { taken.append(current) }
        for buffer in taken { keep(buffer, job) }
        if job.plan.returnsBuffersLater {
            job.kept += taken
        } else if !taken.isEmpty {
            for buffer in taken { transfer.give(buffer) }
            transfer.resumeReceiving()
        }
    }

    private func keep(_ buffer: IOBuffer, _ job: Job) {
        buffer.withBytes { bytes in bytes.withUnsafeBytes { job.body += $0 } }
    }

    private func end(_ job: Job) {
        let transfer = job.transfer
        for buffer in transfer.takeFullBuffers() { keep(buffer, job) }
        if let current = transfer.takeCurrentBuffer() { keep(current, job) }
        precondition(transfer.takenByteCount == transfer.receivedByteCount)
        jobs[transfer.tag] = nil
        let fetched = Fetched(
            outcome: transfer.outcome,
            head: transfer.head,
            body: job.body,
            metrics: transfer.metrics,
            exceededLimit: transfer.exceededLimit,
            pauseCount: job.pauseCount
        )
        job.continuation?.resume(returning: fetched)
    }

    func wait(wakeUp: Int32, timeoutMilliseconds: Int32) {
        session.poll(wakeUp: wakeUp, timeoutMilliseconds: timeoutMilliseconds)
    }

    func close() {
        for job in jobs.values {
            session.cancel(job.transfer)
            end(job)
        }
        session.close()
    }
}

/// A running loop with a fetcher; ends with the last reference.
final class Client: Sendable {
    let loop: CurlLoop
    let fetcher: Fetcher
    private let thread: Platform.Thread

    init() throws {
        loop = try CurlLoop()
        fetcher = try Fetcher(loop: loop)
        thread = try loop.start(fetcher)
    }

    deinit {
        loop.stop()
        thread.join()
    }

    func fetch(
        _ url: String, tag: Int = 0, plan: Fetcher.Plan = Fetcher.Plan(),
        _ configure: (inout TransferRequest) -> Void = { _ in }
    ) async throws -> Fetched {
        var request = TransferRequest(url: try URLParser.parse(url), tag: tag)
        configure(&request)
        return try await fetcher.fetch(request, plan)
    }

    /// Fetches with its own client.
    static func fetchOnce(_ url: String) async throws -> Fetched {
        try await Client().fetch(url)
    }
}
