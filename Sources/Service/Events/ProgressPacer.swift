/// Sees to it that no download's progress is told more often than somebody asked for.
struct ProgressPacer: Sendable {
    /// Timers come a little early or late; a message this much before its time is let through.
    private static let slackNanoseconds: Int64 = 5_000_000

    private var lastSentAt: [String: Int64] = [:]
    /// Those that moved and have not been told of since.
    private var moved: Set<String> = []

    init() {}

    mutating func note(_ ids: some Sequence<String>) { moved.formUnion(ids) }

    var isEmpty: Bool { moved.isEmpty }

    /// Which of those that moved are due now; they count as told.
    ///
    /// - Parameter interval: in milliseconds; nil: nobody wants to hear of it.
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

    /// True when one is due now; it then counts as told.
    mutating func isDue(_ id: String, now: Int64, interval: Int64?) -> Bool {
        guard let interval else { return false }
        if let last = lastSentAt[id], now < last + interval * 1_000_000 - Self.slackNanoseconds { return false }
        lastSentAt[id] = now
        return true
    }

    /// Nothing more is to be told of it.
    mutating func forget(_ id: String) {
        moved.remove(id)
        lastSentAt[id] = nil
    }
}
