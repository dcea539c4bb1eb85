internal import Core
internal import Engine
internal import JSON

/// One `wait` that has not been answered.
///
/// Isolation: the engine's, like the session that holds it.
final class Wait {
    /// What a download must be for the wait to end.
    enum Goal: String, CaseIterable, Sendable {
        case final
        case settled
    }

    /// As little as a wait has to know of each of thousands.
    struct Seen {
        var state: DownloadState
        var reason: StateReason?

        init(_ download: DownloadSnapshot) {
            state = download.state
            reason = download.reason
        }
    }

    let call: Call
    /// Names its waiting report among the downloads' progress: no download has such an id.
    var progressID: String { "wait/\(ObjectIdentifier(self).hashValue)" }
    let goal: Goal
    /// Answers with a download; else with counts.
    let isSingle: Bool
    let deadline: Int64?
    let token: JSONValue?
    /// Those that have not reached the goal, and how they were last seen; nil: not yet.
    var missing: [String: Seen?]
    /// Since when those of them that are offline were seen so, on the monotonic clock: the session follows none of them that
    /// it did not start.
    private(set) var offlineSince: [String: Int64] = [:]
    /// The states of those that have.
    var reached: [String: DownloadState] = [:]
    /// What a single wait answers with.
    var download: DownloadSnapshot?
    var lastReportAt: Int64 = 0
    /// It is answered, or will be once there is room.
    var isOver = false
    /// First looks that have not come back yet.
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

    /// Takes over how a download looks that has not reached the goal.
    func see(_ download: DownloadSnapshot, now: Int64) {
        missing[download.id] = Seen(download)
        let before = offlineSince[download.id]
        offlineSince[download.id] = FollowedDownloads.offlineSince(download, before: before, now: now)
    }

    /// A download has reached the goal.
    func reach(_ id: String, _ state: DownloadState) {
        missing[id] = nil
        offlineSince[id] = nil
        reached[id] = state
    }

    /// True when this wait alone has seen it offline for so long that it counts as settled.
    func isOfflineForLong(_ id: String, now: Int64) -> Bool {
        offlineSince[id].map { now - $0 >= FollowedDownloads.offlinePatienceNanoseconds } ?? false
    }

    /// Its time is up, but a final event is due that goes before the answer, and ends it.
    var isHeldForEvent = false

    /// A download is known to have ended, and its event has not been sent.
    var isEventDue: Bool { missing.values.contains { $0?.state.isFinal == true } }
}

/// All of them, found by download.
struct WaitList {
    /// Waits that there may be at a time.
    static let maxCount = 1_000
    /// Downloads that they may name in all.
    static let maxIDCount = 100_000

    private(set) var all: [ObjectIdentifier: Wait] = [:]
    private var byID: [String: [Wait]] = [:]

    var isEmpty: Bool { all.isEmpty }

    var count: Int { all.count }

    /// Downloads that they name, each as often as it is named.
    private(set) var idCount = 0

    /// The downloads that somebody waits for.
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

    /// The wait need not hear of that download any more.
    mutating func remove(_ wait: Wait, from id: String) {
        guard let index = byID[id]?.firstIndex(where: { $0 === wait }) else { return }
        byID[id]?.remove(at: index)
        idCount -= 1
        if byID[id]?.isEmpty == true { byID[id] = nil }
    }

    /// When the next download that one of them waits for counts as settled for being offline; nil when none is.
    func nextSettleTime(now: Int64) -> Int64? {
        all.values.lazy.flatMap(\.offlineSince.values).map { $0 + FollowedDownloads.offlinePatienceNanoseconds }
            .filter { $0 > now }.min()
    }

    /// The next time at which one gives up; those of which it is not known how they stand are left out.
    var nextDeadline: Int64? {
        all.values.filter { $0.unseenCount == 0 && !$0.isHeldForEvent }.compactMap(\.deadline).min()
    }
}

/// The first looks of waits that are still to be taken, in order.
struct Looks {
    private static let maxCountUnderWay = 64

    private var queue: [(wait: Wait, ids: ArraySlice<String>)] = []
    private var countUnderWay = 0

    mutating func add(_ ids: [String], for wait: Wait) { queue.append((wait, ids[...])) }

    /// The next, if one more may be under way.
    mutating func begin() -> (Wait, String)? {
        guard countUnderWay < Self.maxCountUnderWay else { return nil }
        while !queue.isEmpty {
            let wait = queue[0].wait
            // One that is over needs no more looks.
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
