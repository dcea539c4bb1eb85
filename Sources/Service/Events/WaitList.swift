internal import Core
internal import Engine
internal import JSON

/// One `wait` that has not been answered.
///
/// Isolation: the engine's, like the session that owns it.
final class Wait {
    /// The state that all downloads must reach for the wait to end.
    enum Goal: String, CaseIterable, Sendable {
        case final
        case settled
    }

    /// Kept small, because a wait can have thousands.
    struct Seen {
        var state: DownloadState
        var reason: StateReason?

        init(_ download: DownloadSnapshot) {
            state = download.state
            reason = download.reason
        }
    }

    let call: Call
    /// Identifies the queued report among the progress of downloads: no download has such an id.
    var progressID: String { "wait/\(ObjectIdentifier(self).hashValue)" }
    let goal: Goal
    /// The answer contains a download; otherwise it contains counts.
    let isSingle: Bool
    let deadline: Int64?
    let token: JSONValue?
    /// Downloads that have not reached the goal, with the state last seen; nil: not read yet.
    var missing: [String: Seen?]
    /// When each of these downloads was first seen offline, on the monotonic clock. Needed because the session follows
    /// only downloads that it started.
    private(set) var offlineSince: [String: Int64] = [:]
    /// The states of those that have reached the goal.
    var reached: [String: DownloadState] = [:]
    /// The download with which a single wait is answered.
    var download: DownloadSnapshot?
    var lastReportAt: Int64 = 0
    /// The wait is answered, or its answer is queued.
    var isOver = false
    /// First reads that have not returned yet.
    var unseenCount: Int

    init(call: Call, goal: Goal, ids: [String], isSingle: Bool, deadline: Int64?, token: JSONValue?) {
        self.call = call
        self.goal = goal
        self.isSingle = isSingle
        self.deadline = deadline
        self.token = token
        missing = Dictionary(ids.map { ($0, nil) }, uniquingKeysWith: { first, _ in first })
        unseenCount = missing.count
    }

    /// Stores the state of a download that has not reached the goal.
    func see(_ download: DownloadSnapshot, now: Int64) {
        missing[download.id] = Seen(download)
        let before = offlineSince[download.id]
        offlineSince[download.id] = FollowedDownloads.offlineSince(download, before: before, now: now)
    }

    /// The download has reached the goal.
    func reach(_ id: String, _ state: DownloadState) {
        missing[id] = nil
        offlineSince[id] = nil
        reached[id] = state
    }

    /// True if this wait has seen the download offline for so long that it counts as settled.
    func isOfflineForLong(_ id: String, now: Int64) -> Bool {
        offlineSince[id].map { now - $0 >= FollowedDownloads.offlinePatienceNanoseconds } ?? false
    }

    /// The timeout is over, but a final event is due: it is sent before the answer and ends the wait.
    var isHeldForEvent = false

    /// A download is known to have ended, and its event is not sent yet.
    var isEventDue: Bool { missing.values.contains { $0?.state.isFinal == true } }
}

/// All waits, indexed by download.
struct WaitList {
    /// Waits that may exist at the same time.
    static let maxCount = 1_000
    /// Downloads that all waits may name together.
    static let maxIDCount = 100_000

    private(set) var all: [ObjectIdentifier: Wait] = [:]
    private var byID: [String: [Wait]] = [:]

    var isEmpty: Bool { all.isEmpty }

    var count: Int { all.count }

    /// Downloads that the waits name; one that several waits name counts several times.
    private(set) var idCount = 0

    /// The downloads that are waited for.
    var ids: Set<String> { Set(byID.keys) }

    func waits(for id: String) -> [Wait] { byID[id] ?? [] }

    mutating func add(_ wait: Wait) {
        all[ObjectIdentifier(wait)] = wait
        for id in wait.missing.keys { byID[id, default: []].append(wait) }
        idCount += wait.missing.count
    }

    mutating func remove(_ wait: Wait) {
        all[ObjectIdentifier(wait)] = nil
        for id in wait.missing.keys { remove(wait, from: id) }
    }

    /// The wait needs no more events of this download.
    mutating func remove(_ wait: Wait, from id: String) {
        guard let index = byID[id]?.firstIndex(where: { $0 === wait }) else { return }
        byID[id]?.remove(at: index)
        idCount -= 1
        if byID[id]?.isEmpty == true { byID[id] = nil }
    }

    /// When the next offline download that is waited for counts as settled; nil if there is none.
    func nextSettleTime(now: Int64) -> Int64? {
        all.values.lazy.flatMap(\.offlineSince.values).map { $0 + FollowedDownloads.offlinePatienceNanoseconds }
            .filter { $0 > now }.min()
    }

    /// When the next wait times out; waits with downloads that are not read yet are left out.
    var nextDeadline: Int64? {
        all.values.filter { $0.unseenCount == 0 && !$0.isHeldForEvent }.compactMap(\.deadline).min()
    }
}

/// The first reads for waits that are still to be made, in order.
struct Looks {
    private static let maxCountUnderWay = 64

    private var queue: [(wait: Wait, ids: ArraySlice<String>)] = []
    private var countUnderWay = 0

    mutating func add(_ ids: [String], for wait: Wait) { queue.append((wait, ids[...])) }

    /// The next read, if one more may run now.
    mutating func begin() -> (Wait, String)? {
        guard countUnderWay < Self.maxCountUnderWay else { return nil }
        while !queue.isEmpty {
            let wait = queue[0].wait
            // A wait that is over needs no more reads.
            if !wait.isOver, let id = queue[0].ids.popFirst() {
                countUnderWay += 1
                return (wait, id)
            }
            queue.removeFirst()
        }
        return nil
    }

    mutating func end() { countUnderWay -= 1 }
}
