internal import Core
package import Curl
internal import Files
internal import Platform
package import Store

/// What the engine's only client (the service's session) must implement.  Isolation: the engine, on the loop thread.
package protocol EngineClient: AnyObject {
    /// Called first in every turn of the loop: reads its messages and does what is due.
    ///
    /// - Returns: the monotonic time in nanoseconds at which it must be called again at the latest; nil: not needed.
    func turn(_ engine: isolated DownloadEngine) -> Int64?

    /// A download of this process changed its state, reason or phase; the change is already durable (a phase need not
    /// be).
    ///
    /// Called after the answer to the request that caused it, in order, and never after a final state until a later
    /// request revives the download.
    ///
    /// - Parameter isUpdate: something other than state, reason and phase changed, so the event is sent even if these
    ///   are known.
    func downloadChanged(_ download: DownloadSnapshot, isUpdate: Bool, _ engine: isolated DownloadEngine)

    /// This process has removed a record; called after the answer.
    func downloadRemoved(id: String, revision: Int64, _ engine: isolated DownloadEngine)
}

/// The download actor.  Isolation: the thread of the curl loop, by a custom executor.
///
/// A turn of the loop runs in this order: the client's requests, results of the store and the disk, timers, admission
/// of queued downloads, libcurl, and last the commit of all changes. Nothing here blocks.
package actor DownloadEngine: LoopOwner {
    package typealias Reply<Answer> = (Result<Answer, EngineError>) -> Void

    package nonisolated let loop: CurlLoop
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    let store: Store
    var jobs: Jobs
    let session: MultiSession
    let bootID: String
    let fileModeMask: UInt32
    let usesEnvironmentProxies: Bool
    let log: @Sendable (EngineLogLine) -> Void

    var client: (any EngineClient)?
    var clientDue: Int64?
    package internal(set) var settings = EngineSettings()
    /// Monotonic nanoseconds, read once per turn.
    var now: Int64 = 0
    /// Nothing runs any more.
    var isSuspended = false
    /// Requests that change something are refused.
    var isClosed = false

    /// Downloads that this process owns and that are not final, or whose end is being reported, by id.
    var downloads: [String: Download] = [:]
    /// Downloads whose byte counts or speed changed since the client last asked.
    var advancedIDs: Set<String> = []
    var queue = DownloadQueue()

    /// Downloads with a transfer, by the transfer's tag.
    var transferring: [Int: Download] = [:]
    var nextTransferTag = 1
    var buffers = BufferPool()
    /// Downloads whose transfer needs a buffer and got none.
    var starving: [Download] = []
    var discards = Discards()
    var hasLookedForDiscards = false
    /// Directories on disks that do not answer: requests do not wait for them again.
    var hungDirectories: Set<String> = []
    /// What happened to the latest final downloads.
    var endedTrails = EndedTrails()
    var brokenIfRangeOrigins: Set<ParsedURL.Origin> = []
    var slots = ProgressSlots()
    /// Partials that are being closed, and what waits for that: until then we still have their locks.
    var closing: [FileIdentity: [() -> Void]] = [:]
    /// Volumes that were found full.
    var fullVolumes: [VolumeID: FullVolume] = [:]
    var network = NetworkRoom()
    /// Downloads were left in the queue for the next turn, so that this one ends.
    var isAdmissionCut = false

    var timers = TimerHeap<EngineTimer>()
    var isTicking = false
    var tickDueAt: Int64 = 0

    var pipeline = RequestPipeline<() -> Void>()
    var isPumping = false
    var starts = StartOrder<() -> Void>()

    var outbox = Outbox<OutboxEntry>()
    var dirty: [Download] = []
    /// Downloads whose last save failed and will be repeated.
    var unsaved: [Download] = []
    /// The loss of the state files was logged.
    var isStateGoneTold = false
    /// The revision of the last commit.
    package internal(set) var revision: Int64 = 0

    /// Starts the file workers; the caller starts the loop.
    ///
    /// - Parameters:
    ///   - store: opened by the caller, with results that wake `loop`; the engine closes it. Its scope is used for
    ///     files too.
    ///   - client: owned by the engine from now on; called on the loop thread.
    ///   - usesEnvironmentProxies: requests use the proxies in `http_proxy` and similar variables.
    ///   - log: called on the loop thread; must not block.
    package init(
        loop: CurlLoop,
        store: Store,
        client: sending any EngineClient,
        usesEnvironmentProxies: Bool = false,
        log: @escaping @Sendable (EngineLogLine) -> Void = { _ in }
    ) throws(EngineStartError) {
        let jobs: Jobs
        let session: MultiSession
        do throws(Errno) {
            jobs = try Jobs(store: store, onAnswer: { loop.wake() })
        } catch {
            throw EngineStartError(message: "cannot start the file workers: \(error.message)")
        }
        do throws(CurlError) {
            session = try MultiSession()
        } catch {
            throw EngineStartError(message: "cannot start libcurl: \(error.detail)")
        }
        self.loop = loop
        self.store = store
        self.log = log
        self.client = client
        self.jobs = jobs
        self.session = session
        bootID = Platform.bootID()
        fileModeMask = Platform.fileModeMask()
        self.usesEnvironmentProxies = usesEnvironmentProxies
    }

    /// How long the end waits for writes to a slow disk.
    private static let closeLimitNanoseconds: Int64 = 300_000_000

    // MARK: - LoopOwner

    package func turn() -> Int32 {
        now = monotonicNanoseconds()
        if !hasLookedForDiscards {
            hasLookedForDiscards = true
            finishDiscards()
        }
        clientDue = client?.turn(self)
        takeStoreResults()
        takeFileResults()
        takeNetworkNews()
        runDueTimers()
        pumpPipeline()
        admitQueued()
        runTransfers()
        commitDirty()
        drainOutbox()
        return idleMilliseconds()
    }

    package func wait(wakeUp: Int32, timeoutMilliseconds: Int32) {
        session.poll(wakeUp: wakeUp, other: network.descriptor, timeoutMilliseconds: timeoutMilliseconds)
    }

    package func close() {
        session.close()
        let deadline = monotonicNanoseconds() + Self.closeLimitNanoseconds
        while hasWritesInFlight, monotonicNanoseconds() < deadline { takeFileResults(waitMilliseconds: 5) }
        // A pending write to a slow disk must not meet another owner: then the session ends only with the process.
        if !hasWritesInFlight {
            for download in downloads.values { download.partial.file?.abandon() }
            store.close()
        }
        client = nil
    }

    private var hasWritesInFlight: Bool { downloads.values.contains { $0.partial.writesInFlight > 0 } }

    /// How long the loop may sleep: until a timer or the client is due.
    private func idleMilliseconds() -> Int32 {
        // Work caused by a reply or an event: nothing else would end the sleep for it.
        if pipeline.hasReadyStep || isAdmissionCut || !dirty.isEmpty || outbox.hasUnsealed { return 0 }
        guard let due = [timers.nextDue, clientDue].compactMap({ $0 }).min() else {
            return CurlLoop.maxSleepMilliseconds
        }
        let milliseconds = (due - monotonicNanoseconds() + 999_999) / 1_000_000
        return Int32(clamping: min(max(milliseconds, 0), Int64(CurlLoop.maxSleepMilliseconds)))
    }
}

/// Why the engine could not be made.
package struct EngineStartError: Error, Sendable {
    package var message: String
}

/// One line for the log, without secrets.
package struct EngineLogLine: Sendable {
    package enum Level: String, Sendable {
        case error
        case warn
        case info
        case debug
    }
    package var level: Level
    package var message: String
    package var downloadID: String?
}

/// What the client gets once the changes it reports are on disk.
enum OutboxEntry {
    case event(DownloadSnapshot)
    /// Other members than state, reason and phase have changed.
    case update(DownloadSnapshot)
    case removal(id: String, revision: Int64)
    case reply(() -> Void)
}

/// What a timer is for; `generation` shows whether the download has changed since.
enum EngineTimer {
    case retry(id: String, generation: UInt64)
    case offline(id: String, generation: UInt64)
    /// Periodic work while anything is transferred: flushes by age, checkpoints, speeds.
    case tick
    case retryCommit
    /// A step that waits for a slow disk continues without the bytes on the way to it.
    case forceQuiet(Download, quietCount: UInt64)
    case run(() -> Void)
}
