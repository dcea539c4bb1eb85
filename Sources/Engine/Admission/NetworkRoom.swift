internal import Core
internal import Curl
internal import Platform

/// Who waits for the network, and what is known of it.  Isolation: the engine.
///
/// Only the routes are checked; no packet is sent.
struct NetworkRoom {
    /// A download that waits for the network.
    struct Wait {
        /// The download's generation when it began to wait.
        let generation: UInt64
        fileprivate let peers: [SocketAddress]
        fileprivate let ways: OfflinePolicy.Ways
    }
    /// What a turn has found out.
    struct News {
        /// The system was suspended: all may try again.
        var wasSuspended: Bool
        /// The network has changed: look at the routes soon.
        var isLookWanted: Bool
    }

    /// Clocks are read one after the other: a smaller difference is no suspension.
    private static let suspensionNanoseconds: Int64 = 1_000_000_000
    /// The loop sleeps for at most a second: a longer gap means that the process did not run, as in a suspended virtual
    /// machine.
    private static let longStandstillNanoseconds: Int64 = 5_000_000_000

    /// By id; some downloads may already have continued.
    private var waits: [String: Wait] = [:]
    /// Exists while any download waits, if the system supports it.
    private var watch: NetworkWatch?
    private var isLookDue = false
    /// When the network last returned: older connections may be dead. In monotonic nanoseconds.
    private var returnedAt: Int64?
    /// How long the system was suspended in total at the last check, and when that was.
    private var knownSuspendedNanoseconds = suspendedNanoseconds()
    private var suspensionCheckedAt = monotonicNanoseconds()

    /// Ends the loop's sleep when it is readable; negative: there is none.
    var descriptor: Int32 { watch?.raw ?? -1 }

    /// What the routes are now for a download with these peers, if its failure says nothing about the server; nil for
    /// another kind of failure.
    func waysIfOffline(_ peers: [SocketAddress], _ failure: DownloadFailure) -> OfflinePolicy.Ways? {
        // Most failures do not need a check of the routes.
        guard failure.isRetryable, failure.httpStatus == nil else { return nil }
        let ways = Self.ways(peers, hasDefaultRoute())
        return OfflinePolicy.isOffline(failure, ways) ? ways : nil
    }

    /// - Returns: true if the routes must be looked at, because the network may have returned before the watch began.
    mutating func add(
        _ id: String, generation: UInt64, peers: [SocketAddress], ways: OfflinePolicy.Ways
    ) -> Bool {
        waits[id] = Wait(generation: generation, peers: peers, ways: ways)
        guard watch == nil else { return false }
        watch = NetworkWatch()
        return true
    }

    func wait(of id: String) -> Wait? { waits[id] }

    /// All that wait, in the order of their ids.
    var waitingIDs: [String] { waits.keys.sorted() }

    /// Takes out those that have continued; false when none is left.
    mutating func keep(_ isCurrent: (String, Wait) -> Bool) -> Bool {
        waits = waits.filter { isCurrent($0.key, $0.value) }
        if waits.isEmpty { watch = nil }
        return !waits.isEmpty
    }

    /// Takes one out that may try again.
    mutating func remove(_ id: String, now: Int64) -> Wait? {
        guard let wait = waits.removeValue(forKey: id) else { return nil }
        returnedAt = now
        if waits.isEmpty { watch = nil }
        return wait
    }

    /// - Parameter isDue: its time is up, whether or not a change was reported.
    func mayTry(_ wait: Wait, hasDefaultRoute: Bool, isDue: Bool) -> Bool {
        OfflinePolicy.mayTry(Self.ways(wait.peers, hasDefaultRoute), before: wait.ways, isDue: isDue)
    }

    /// Checks whether the network changed or the system was suspended since the last turn.
    mutating func takeNews(now: Int64) -> News {
        let suspended = suspendedNanoseconds()
        let wasSuspended =
            suspended - knownSuspendedNanoseconds >= Self.suspensionNanoseconds
            || now - suspensionCheckedAt >= Self.longStandstillNanoseconds
        knownSuspendedNanoseconds = suspended
        suspensionCheckedAt = now
        if wasSuspended { returnedAt = now }
        return News(wasSuspended: wasSuspended, isLookWanted: watch?.takeNews() == true)
    }

    /// True if a look must be scheduled now: none is due.
    mutating func scheduleLook() -> Bool {
        defer { isLookDue = true }
        return !isLookDue
    }

    mutating func beginLook() { isLookDue = false }

    /// How old idle connections may be: older ones than the network's return may be dead without notice.
    func maxIdleSeconds(now: Int64) -> Int {
        guard let returnedAt else { return TransferRequest.maxIdleSecondsDefault }
        let seconds = (now - returnedAt) / 1_000_000_000
        return Int(clamping: min(seconds, Int64(TransferRequest.maxIdleSecondsDefault)))
    }

    private static func ways(_ peers: [SocketAddress], _ hasDefaultRoute: Bool) -> OfflinePolicy.Ways {
        let hasRoute = peers.isEmpty ? nil : peers.contains { $0.hasRoute != false }
        return OfflinePolicy.Ways(hasRoute: hasRoute, hasDefaultRoute: hasDefaultRoute)
    }
}
