/// Limits how often the progress of a download is sent.
struct ProgressPacer: Sendable {
    /// Timers fire a little early or late: an event this much before its time is sent.
    private static let slackNanoseconds: Int64 = 5_000_000

    private var lastSentAt: [String: Int64] = [:]
    /// Downloads that received bytes since their last progress event.
    private var moved: Set<String> = []

    init() {}

    mutating func note(_ ids: some Sequence<String>) { moved.formUnion(ids) }

    var isEmpty: Bool { moved.isEmpty }

    /// The downloads whose progress is due now; it counts as sent.
    ///
    /// - Parameter interval: in milliseconds; nil if nobody wants the events.
    mutating func takeDue(now: Int64, interval: (String) -> Int64?) -> [String] {
        var due: [String] = []
        for id in moved {
            let milliseconds = interval(id)
            if milliseconds != nil && !isDue(id, now: now, interval: milliseconds) { continue }
            moved.remove(id)
            if milliseconds != nil { due.append(id) }
        }
        return due.sorted()
    }

    /// True if the progress of one download is due now; it then counts as sent.
    mutating func isDue(_ id: String, now: Int64, interval: Int64?) -> Bool {
        guard let interval else { return false }
        if let last = lastSentAt[id], now < last + interval * 1_000_000 - Self.slackNanoseconds { return false }
        lastSentAt[id] = now
        return true
    }

    /// No more progress of the download is sent.
    mutating func forget(_ id: String) {
        moved.remove(id)
        lastSentAt[id] = nil
    }
}
