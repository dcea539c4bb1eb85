internal import Core

/// What happened to one download in this process, for `inspect`; limited in size.
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

/// The histories of final downloads, up to a limit.
struct EndedTrails {
    static let maxCount = 200

    private var trails: [String: Trail] = [:]
    private var order: [String] = []

    subscript(id: String) -> Trail? { trails[id] }

    mutating func keep(_ trail: Trail, id: String) {
        guard !trail.attempts.isEmpty else { return }
        if trails.updateValue(trail, forKey: id) != nil { return }
        order.append(id)
        if order.count > Self.maxCount { trails[order.removeFirst()] = nil }
    }
}
