internal import Core
internal import Engine

/// The downloads that the session started or resumed: it receives their events, and a pipeline waits for their end.
struct FollowedDownloads: Sendable {
    /// A download that is not final.
    struct Entry: Sendable {
        var selection: EventSelection
        var isBackground: Bool
        var state: DownloadState
        /// Another process runs it, so its state must be polled.
        var isElsewhere: Bool
        /// The status that was sent to the host last; nil if the next one must be sent.
        fileprivate var told: DownloadStatus?
    }

    /// How long a download must have been offline to count as settled.
    static let offlinePatienceNanoseconds: Int64 = 60_000_000_000

    private(set) var entries: [String: Entry] = [:]
    /// The final states of the other downloads.
    private(set) var finished: [String: DownloadState] = [:]
    /// Finished downloads whose events the host wants: their removal is such an event.
    private var told: Set<String> = []
    private var unsettled: Set<String> = []
    private var background: Set<String> = []
    private var active: Set<String> = []
    /// Downloads that other processes run.
    private(set) var idsElsewhere: Set<String> = []
    /// When each download went offline, on the monotonic clock.
    private var offlineSince: [String: Int64] = [:]
    /// A download ended without completing and was then removed.
    private var hasForgottenFailure = false

    init() {}

    /// Counts the download as the session's own from now on.
    mutating func follow(
        _ download: DownloadSnapshot,
        selection: EventSelection,
        isBackground: Bool,
        now: Int64
    ) {
        entries[download.id] = Entry(
            selection: selection,
            isBackground: isBackground,
            state: download.state,
            isElsewhere: false,
            told: nil
        )
        finished[download.id] = nil
        update(download, now: now)
    }

    /// Which events of a download the host wants; nil for one that is not the session's.
    func selection(of id: String) -> EventSelection? {
        entries[id]?.selection ?? (told.contains(id) ? .changed : nil)
    }

    /// True if this state, reason and phase were already sent to the host, by an event or in the answer to `start`.
    /// Otherwise it is now counted as sent.
    mutating func isTold(_ download: DownloadSnapshot) -> Bool {
        let status = DownloadStatus(download.state, reason: download.reason, phase: download.phase)
        if entries[download.id]?.told == status { return true }
        entries[download.id]?.told = status
        return false
    }

    /// Stores the new state of a download; does nothing if the download is not the session's.
    mutating func update(_ download: DownloadSnapshot, now: Int64) {
        let id = download.id
        guard var entry = entries[id] else { return }
        entry.state = download.state
        entry.isElsewhere = download.owner == .other
        entries[id] = entry
        setMember(id, of: &active, download.state == .active)
        setMember(id, of: &idsElsewhere, entry.isElsewhere && !download.state.isFinal)
        offlineSince[id] = Self.offlineSince(download, before: offlineSince[id], now: now)
        let isSettled = Self.isSettled(download.state, download.reason)
        setMember(id, of: &unsettled, !isSettled)
        setMember(id, of: &background, !isSettled && entry.isBackground)
        if download.state.isFinal {
            entries[id] = nil
            finished[id] = download.state
            setMember(id, of: &told, entry.selection != .none)
        }
    }

    /// Forgets a download that was removed.
    ///
    /// - Returns: true if the host wants the event.
    mutating func remove(_ id: String) -> Bool {
        let isWanted = told.remove(id) != nil || entries[id].map { $0.selection != .none } ?? false
        if let state = finished.removeValue(forKey: id), state != .completed { hasForgottenFailure = true }
        if entries.removeValue(forKey: id) != nil { hasForgottenFailure = true }
        unsettled.remove(id)
        background.remove(id)
        active.remove(id)
        idsElsewhere.remove(id)
        offlineSince[id] = nil
        return isWanted
    }

    /// Settled by state and reason alone: final, paused, or waiting until the user acts.
    static func isSettled(_ state: DownloadState, _ reason: StateReason?) -> Bool {
        state.isFinal || state == .paused || (state == .waiting && (reason == .needsUrl || reason == .diskFull))
    }

    /// True if none of them will change unless somebody acts.
    func areSettled(now: Int64) -> Bool {
        unsettled.count <= offlineSince.count && unsettled.allSatisfy { isOfflineForLong($0, now: now) }
    }

    func isSettled(_ id: String, now: Int64) -> Bool {
        !unsettled.contains(id) || isOfflineForLong(id, now: now)
    }

    /// When the next offline download counts as settled; nil if there is none.
    func nextSettleTime(now: Int64) -> Int64? {
        offlineSince.values.map { $0 + Self.offlinePatienceNanoseconds }.filter { $0 > now }.min()
    }

    var hasUnsettledBackground: Bool { !background.isEmpty }

    var hasActive: Bool { !active.isEmpty }

    var areAllCompleted: Bool {
        entries.isEmpty && !hasForgottenFailure && finished.values.allSatisfy { $0 == .completed }
    }

    private func isOfflineForLong(_ id: String, now: Int64) -> Bool {
        offlineSince[id].map { now - $0 >= Self.offlinePatienceNanoseconds } ?? false
    }

    /// When the download went offline; nil if it is not offline. A download that retries and has not reached the server
    /// yet still is.
    static func offlineSince(_ download: DownloadSnapshot, before: Int64?, now: Int64) -> Int64? {
        if download.state == .waiting && download.reason == .offline { return before ?? now }
        let isTrying = download.state == .queued || (download.state == .active && download.phase == .connecting)
        return isTrying ? before : nil
    }

    private func setMember(_ id: String, of set: inout Set<String>, _ isMember: Bool) {
        if isMember { set.insert(id) } else { set.remove(id) }
    }
}
