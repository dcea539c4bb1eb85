internal import Core
internal import Curl
internal import Platform
internal import Store

/// State of a download that waits for the network.
struct OfflineWait {
    /// The download's generation when it began to wait.
    var generation: UInt64
    var peers: [SocketAddress]
    var ways: OfflinePolicy.Ways
}

/// Waiting for the network: while it is down no try is counted, and its return ends the wait, like
/// `waitsForConnectivity` of NSURLSession.  Only the routes are checked; no packet is sent.
extension DownloadEngine {
    /// One change of the network may cause several messages.
    private static let lookDelayNanoseconds: Int64 = 250_000_000
    /// Clocks are read one after the other: a smaller difference is no suspension.
    private static let suspensionNanoseconds: Int64 = 1_000_000_000
    /// The loop sleeps for at most a second: a longer gap means that the process did not run, as in a suspended virtual
    /// machine.
    private static let longStandstillNanoseconds: Int64 = 5_000_000_000

    /// Makes a stopped download wait for the network if that caused its failure.
    ///
    /// - Returns: false for another kind of failure; then nothing was done.
    func waitsForNetwork(_ download: Download, _ failure: DownloadFailure) -> Bool {
        // Most failures do not need a check of the routes.
        guard failure.isRetryable, failure.httpStatus == nil else { return false }
        let ways = ways(download.peers, hasDefaultRoute())
        guard OfflinePolicy.isOffline(failure, ways) else { return false }
        download.offlineCount += 1
        download.record.retryAtMilliseconds = nil
        change(download, to: .waiting, reason: .offline)
        offline[download.id] = OfflineWait(generation: download.generation, peers: download.peers, ways: ways)
        addOfflineTimer(download)
        if networkWatch == nil {
            networkWatch = NetworkWatch()
            // It may have returned before the watch began.
            scheduleNetworkLook()
        }
        return true
    }

    private func ways(_ peers: [SocketAddress], _ hasDefaultRoute: Bool) -> OfflinePolicy.Ways {
        let hasRoute = peers.isEmpty ? nil : peers.contains { $0.hasRoute != false }
        return OfflinePolicy.Ways(hasRoute: hasRoute, hasDefaultRoute: hasDefaultRoute)
    }

    private func addOfflineTimer(_ download: Download) {
        let milliseconds = OfflinePolicy.lookMilliseconds(tryCount: download.offlineCount)
        timers.add(.offline(id: download.id, generation: download.generation), due: now + milliseconds * 1_000_000)
    }

    /// Checks whether the network changed or the system was suspended since the last turn.
    func takeNetworkNews() {
        let suspended = suspendedNanoseconds()
        let wasSuspended =
            suspended - knownSuspendedNanoseconds >= Self.suspensionNanoseconds
            || now - suspensionLookedAt >= Self.longStandstillNanoseconds
        knownSuspendedNanoseconds = suspended
        suspensionLookedAt = now
        if wasSuspended {
            networkReturnedAt = now
            for id in offline.keys.sorted() { goOnline(id) }
        }
        if networkWatch?.takeNews() == true { scheduleNetworkLook() }
    }

    private func scheduleNetworkLook() {
        guard !isNetworkLookDue else { return }
        isNetworkLookDue = true
        timers.add(.run { [self] in lookForNetwork() }, due: now + Self.lookDelayNanoseconds)
    }

    private func lookForNetwork() {
        isNetworkLookDue = false
        offline = offline.filter { id, wait in downloads[id]?.generation == wait.generation }
        if offline.isEmpty {
            networkWatch = nil
            return
        }
        let isThere = hasDefaultRoute()
        for (id, wait) in offline.sorted(by: { $0.key < $1.key }) where mayTry(wait, isThere, isDue: false) {
            goOnline(id)
        }
    }

    private func mayTry(_ wait: OfflineWait, _ hasDefaultRoute: Bool, isDue: Bool) -> Bool {
        OfflinePolicy.mayTry(ways(wait.peers, hasDefaultRoute), before: wait.ways, isDue: isDue)
    }

    /// A waiting download is due, even if no change of the network was reported.
    func lookAtOffline(id: String, generation: UInt64) {
        guard let download = downloads[id], download.generation == generation, let wait = offline[id] else { return }
        if mayTry(wait, hasDefaultRoute(), isDue: true) { return goOnline(id) }
        download.offlineCount += 1
        addOfflineTimer(download)
    }

    private func goOnline(_ id: String) {
        guard let wait = offline.removeValue(forKey: id) else { return }
        networkReturnedAt = now
        retry(id: id, generation: wait.generation)
        if offline.isEmpty { networkWatch = nil }
    }

    /// How old idle connections may be: older ones than the network's return may be dead without notice.
    func maxIdleSeconds() -> Int {
        guard let networkReturnedAt else { return TransferRequest.maxIdleSecondsDefault }
        let seconds = (now - networkReturnedAt) / 1_000_000_000
        return Int(clamping: min(seconds, Int64(TransferRequest.maxIdleSecondsDefault)))
    }
}
