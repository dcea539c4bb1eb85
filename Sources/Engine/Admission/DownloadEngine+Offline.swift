internal import Core
internal import Platform
internal import Store

/// Waiting for the network: while it is down no try is counted, and its return ends the wait, like
/// `waitsForConnectivity` of NSURLSession.
extension DownloadEngine {
    /// One change of the network may cause several messages.
    private static let lookDelayNanoseconds: Int64 = 250_000_000

    /// Makes a stopped download wait for the network if that caused its failure.
    ///
    /// - Returns: false for another kind of failure; then nothing was done.
    func waitsForNetwork(_ download: Download, _ failure: DownloadFailure) -> Bool {
        guard let ways = network.waysIfOffline(download.peers, failure) else { return false }
        download.offlineCount += 1
        download.record.retryAtMilliseconds = nil
        change(download, to: .waiting, reason: .offline)
        let isFirst = network.add(
            download.id, generation: download.generation, peers: download.peers, ways: ways)
        addOfflineTimer(download)
        if isFirst { scheduleNetworkLook() }
        return true
    }

    private func addOfflineTimer(_ download: Download) {
        let milliseconds = OfflinePolicy.lookMilliseconds(tryCount: download.offlineCount)
        timers.add(.offline(id: download.id, generation: download.generation), due: now + milliseconds * 1_000_000)
    }

    /// Acts on what changed since the last turn.
    func takeNetworkNews() {
        let news = network.takeNews(now: now)
        if news.wasSuspended {
            for id in network.waitingIDs { goOnline(id) }
        }
        if news.isLookWanted { scheduleNetworkLook() }
    }

    private func scheduleNetworkLook() {
        guard network.scheduleLook() else { return }
        timers.add(.run { [self] in lookForNetwork() }, due: now + Self.lookDelayNanoseconds)
    }

    private func lookForNetwork() {
        network.beginLook()
        guard network.keep({ id, wait in downloads[id]?.generation == wait.generation }) else { return }
        let isThere = hasDefaultRoute()
        for id in network.waitingIDs {
            guard let wait = network.wait(of: id) else { continue }
            if network.mayTry(wait, hasDefaultRoute: isThere, isDue: false) { goOnline(id) }
        }
    }

    /// A waiting download is due, even if no change of the network was reported.
    func lookAtOffline(id: String, generation: UInt64) {
        guard let download = downloads[id], download.generation == generation, let wait = network.wait(of: id) else {
            return
        }
        if network.mayTry(wait, hasDefaultRoute: hasDefaultRoute(), isDue: true) { return goOnline(id) }
        download.offlineCount += 1
        addOfflineTimer(download)
    }

    private func goOnline(_ id: String) {
        guard let wait = network.remove(id, now: now) else { return }
        retry(id: id, generation: wait.generation)
    }
}
