internal import Core

/// What happened to one download in this process, for `inspect`; bounded.
struct Trail {
    static let maxHops = 40
    static let maxAttempts = 20

    private(set) var hops: [Inspection.Hop] = []
    private(set) var attempts: [Inspection.Attempt] = []

    mutating func add(_ hop: Inspection.Hop) {
        if hops.count == Self.maxHops { hops.removeFirst() }
        hops.append(hop)
    }

    mutating func beginAttempt(atUnixMilliseconds: Int64, requestedRange: String?) {
        if attempts.count == Self.maxAttempts { attempts.removeFirst() }
        attempts.append(
            Inspection.Attempt(
                startedAtUnixMilliseconds: atUnixMilliseconds,
                requestedRange: requestedRange,
                receivedByteCount: 0
            )
        )
    }

    /// Changes the last attempt, if there is one.
    mutating func updateAttempt(_ body: (inout Inspection.Attempt) -> Void) {
        guard !attempts.isEmpty else { return }
        body(&attempts[attempts.count - 1])
    }
}
