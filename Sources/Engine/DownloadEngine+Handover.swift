internal import Core
internal import Platform
internal import Store

/// Handing over downloads from a process whose host has exited to a process that asks for them.
///
/// The asking process stores a request. A yielding owner polls for requests and releases the downloads that they name.
/// The asking process retries until it can take the download over. If the owner does not yield, that is known at once.
extension DownloadEngine {
    static let handoverPollNanoseconds: Int64 = 250_000_000
    static let handoverRetryNanoseconds: Int64 = 50_000_000
    static let handoverLimitNanoseconds: Int64 = 2_500_000_000

    // MARK: - The owner

    /// From now on releases a download when another process of the application asks for it.
    package func beginYielding() {
        submit(.beginYielding) { [self] outcome in
            if case .success = outcome { lookForHandovers() }
        }
    }

    private func lookForHandovers() {
        submit(.handovers) { [self] outcome in
            if case .success(let ids) = outcome {
                for id in ids { handOver(id) }
            }
            timers.add(.run { [self] in lookForHandovers() }, due: now + Self.handoverPollNanoseconds)
        }
    }

    private func handOver(_ id: String) {
        letGo(id) { [self] in submit(.endHandover(id: id)) { _ in } }
    }

    /// Interrupts downloads and releases them with their bytes: any process may take them over.
    package func letGo(ids: [String]) {
        for id in ids { letGo(id) {} }
    }

    func letGo(_ id: String, then body: @escaping () -> Void) {
        guard let download = downloads[id], !download.isPublishing, !download.record.state.isFinal else { return }
        stop(download)
        let generation = download.generation
        whenQuiet(download) { [self] in
            guard generation == download.generation else { return }
            closeFile(download)
            // The next owner must find the partial unlocked.
            afterClosing(download.record.partial) { [self] in
                guard generation == download.generation else { return }
                giveUp(download)
                body()
            }
        }
        limitQuietWait(download, nanoseconds: Self.quietLimitNanoseconds)
    }

    private func giveUp(_ download: Download) {
        let id = download.id
        let reason: StateReason = download.record.state == .paused ? download.record.reason ?? .user : .interrupted
        change(download, to: .paused, reason: reason, isTold: false)
        download.record.owner = nil
        tell(download)
        markDirty(download) { [self] isSaved in
            guard isSaved, downloads[id] === download else { return }
            releaseFile(download)
            downloads[id] = nil
            advancedIDs.remove(id)
        }
    }

    // MARK: - The asking process

    /// Asks the owner for a download; calls back with true if it has no owner now.
    func askForHandover(_ id: String, then body: @escaping (Bool) -> Void) {
        submit(.requestHandover(id: id)) { [self] outcome in
            switch outcome {
            case .success(.noted): awaitHandover(id, until: now + Self.handoverLimitNanoseconds, then: body)
            case .success(.free): body(true)
            case .success(.refused), .failure: body(false)
            }
        }
    }

    private func awaitHandover(_ id: String, until deadline: Int64, then body: @escaping (Bool) -> Void) {
        submit(.get(id: id)) { [self] outcome in
            guard case .success(let loaded?) = outcome, loaded.ownership == .other else { return body(true) }
            if now >= deadline {
                submit(.endHandover(id: id)) { _ in }
                return body(false)
            }
            let again = { [self] in awaitHandover(id, until: deadline, then: body) }
            timers.add(.run(again), due: now + Self.handoverRetryNanoseconds)
        }
    }
}
