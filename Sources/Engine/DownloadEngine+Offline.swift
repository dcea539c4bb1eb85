internal import Core
internal import Curl
internal import Platform
internal import Store

/// What is known of a download that waits for the network.
struct OfflineWait {
    /// Of the download as it began to wait.
    var generation: UInt64
    var peers: [SocketAddress]
    var ways: OfflinePolicy.Ways
}

/// Waiting for the network: no try is counted while it is away, and its return ends the wait, as that of NSURLSession's
/// `waitsForConnectivity`.  Nothing in here sends a packet: the routes tell.
extension DownloadEngine {
    /// What comes of one change of the network may bring several messages.
    private static let lookDelayNanoseconds: Int64 = 250_000_000
    /// Clocks are read one after the other: less than this is no suspension.
    private static let suspensionNanoseconds: Int64 = 1_000_000_000
    /// The loop sleeps for a second at most: after this long the process did not run, as in a suspended virtual machine.
    private static let longStandstillNanoseconds: Int64 = 5_000_000_000

    /// Lets a stopped download wait for the network if that is what its failure tells of.
    ///
    /// - Returns: false when it is another sort of failure; then nothing was done.
    func waitsForNetwork(_ download: Download, _ failure: DownloadFailure) -> Bool {
        // Most failures need no look at the routes.
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
            // It may have come back before it was watched.
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

    /// Sees whether the network changed or the system was suspended since the last turn.
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

    /// The time of a waiting download has come, whether or not anybody told of the network.
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

    /// How old idle connections may be: those from before the network's return may be dead without a sign.
    func maxIdleSeconds() -> Int {
        guard let networkReturnedAt else { return TransferRequest.maxIdleSecondsDefault }
        let seconds = (now - networkReturnedAt) / 1_000_000_000
        return Int(clamping: min(seconds, Int64(TransferRequest.maxIdleSecondsDefault)))
    }
}
