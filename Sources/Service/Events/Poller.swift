internal import Core
internal import Engine
internal import Platform
internal import RPC

/// What is known about downloads of other processes. Only polling can find it out.
struct Poller {
    static let intervalNanoseconds: Int64 = 500_000_000
    /// Downloads polled in one round.
    static let maxCount = 500

    fileprivate struct Sight: Equatable {
        var state: DownloadState
        var reason: StateReason?
        var phase: DownloadPhase?
        var owner: Ownership
        var attempt: Int
        var path: String?
        var url: String
        var priority: Int64
        var metadataText: String?
    }
    fileprivate var sights: [String: Sight] = [:]
    fileprivate var receivedByteCounts: [String: Int64] = [:]
    fileprivate var nextRoundAt: Int64 = 0
    /// Polls of this round that are not answered yet.
    fileprivate var missingCount = 0
    /// Where the next round begins if there are too many downloads for one round.
    fileprivate var offset = 0

    /// Stores the state of a download, so that the next round reports only changes.
    mutating func note(_ download: DownloadSnapshot) {
        if sights[download.id] != nil { sights[download.id] = Sight(download) }
    }

    /// Makes the next round begin at once, so that no change of a newly requested download is missed.
    mutating func hurry() { nextRoundAt = 0 }

    mutating func forget(allBut ids: Set<String>) {
        if sights.isEmpty { return }
        sights = sights.filter { ids.contains($0.key) }
        receivedByteCounts = receivedByteCounts.filter { ids.contains($0.key) }
    }
}

extension Poller.Sight {
    fileprivate init(_ download: DownloadSnapshot) {
        state = download.state
        reason = download.reason
        phase = download.phase
        owner = download.owner
        attempt = download.attempt
        path = download.path
        url = download.url
        priority = download.priority
        metadataText = download.metadataText
    }
}

extension Session {
    /// Polls the downloads that somebody wants events of and that another process runs.
    ///
    /// - Returns: when to poll again; nil if there are none.
    func pollOthers(now: Int64, _ engine: isolated DownloadEngine) -> Int64? {
        if waits.isEmpty && downloads.idsElsewhere.isEmpty && !subscriptions.hasNamedIDs {
            poller.forget(allBut: [])
            return nil
        }
        if now < poller.nextRoundAt { return poller.nextRoundAt }
        let wanted = subscriptions.namedIDs.union(downloads.idsElsewhere).union(waits.ids)
        poller.nextRoundAt = now + Poller.intervalNanoseconds
        // If the store is slow, do not send it another round.
        if poller.missingCount > 0 { return poller.nextRoundAt }
        let ids = wanted.filter { engine.snapshot(id: $0) == nil }.sorted()
        poller.forget(allBut: wanted)
        if ids.isEmpty { return poller.nextRoundAt }
        let start = ids.count <= Poller.maxCount ? 0 : poller.offset % ids.count
        let round = (ids[start...] + ids[..<start]).prefix(Poller.maxCount)
        poller.offset = start + round.count
        for id in round {
            poller.missingCount += 1
            engine.get(id: id) { [self] result in
                poller.missingCount -= 1
                takeSight(of: id, result, engine)
            }
        }
        return poller.nextRoundAt
    }

    private func takeSight(
        of id: String,
        _ result: Result<DownloadSnapshot, EngineError>,
        _ engine: isolated DownloadEngine
    ) {
        switch result {
        case .failure(.downloadNotFound):
            // If the download never existed, this is no removal.
            let wasSeen = poller.sights.removeValue(forKey: id) != nil || downloads.entries[id] != nil
            if wasSeen { return takeRemoval(of: id, revision: nil, isOwn: false) }
            failWaits(for: id, RPCError(EngineError.downloadNotFound(id: id)))
            if leaving.isWaitingForQuiet { nudge() }
        case .failure: break
        case .success(let download):
            // This process may have taken it over since.
            if engine.snapshot(id: id) != nil { return }
            let sight = Poller.Sight(download)
            let old = poller.sights.updateValue(sight, forKey: id)
            // At the first poll, the only older state is the one in the answer to `start`.
            let isNews = old.map { $0 != sight } ?? downloads.entries[id].map { $0.state != sight.state } ?? false
            if isNews {
                take(download, isOwn: false, isUpdate: old != nil, engine)
            } else {
                settleWaits(download, now: monotonicNanoseconds(), engine)
            }
            let received = poller.receivedByteCounts.updateValue(download.receivedByteCount, forKey: id)
            let hasMoved = received.map { $0 != download.receivedByteCount } ?? false
            if hasMoved && !download.state.isFinal { tellProgress(ofOther: download, now: monotonicNanoseconds()) }
        }
    }
}
