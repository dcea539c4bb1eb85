/// What happened to one download in this process, for `inspect`; limited in size.
package struct Trail: Sendable {
    /// One response, also a redirect.
    package struct Hop: Sendable {
        /// Redacted.
        package var url: String
        package var status: Int
        package var remoteAddress: String?
        package var atUnixMilliseconds: Int64

        package init(url: String, status: Int, remoteAddress: String?, atUnixMilliseconds: Int64) {
            self.url = url
            self.status = status
            self.remoteAddress = remoteAddress
            self.atUnixMilliseconds = atUnixMilliseconds
        }
    }
    package struct Attempt: Sendable {
        package var startedAtUnixMilliseconds: Int64
        package var endedAtUnixMilliseconds: Int64?
        package var origin: TransferOrigin?
        package var requestedRange: String?
        package var receivedByteCount: Int64
        package var failure: DownloadFailure?
        /// Milliseconds from the start of the request to name lookup, connect, TLS and first byte; nil if not reached.
        package var nameLookupMilliseconds: Int64?
        package var connectMilliseconds: Int64?
        package var tlsMilliseconds: Int64?
        package var firstByteMilliseconds: Int64?
    }
    package static let maxHops = 40
    package static let maxAttempts = 20

    package private(set) var hops: [Hop] = []
    package private(set) var attempts: [Attempt] = []

    package init() {}

    package mutating func add(_ hop: Hop) {
        if hops.count == Self.maxHops { hops.removeFirst() }
        hops.append(hop)
    }

    package mutating func beginAttempt(atUnixMilliseconds: Int64, requestedRange: String?) {
        if attempts.count == Self.maxAttempts { attempts.removeFirst() }
        attempts.append(
            Attempt(
                startedAtUnixMilliseconds: atUnixMilliseconds,
                requestedRange: requestedRange,
                receivedByteCount: 0
            )
        )
    }

    /// Changes the last attempt, if there is one.
    package mutating func updateAttempt(_ body: (inout Attempt) -> Void) {
        guard !attempts.isEmpty else { return }
        body(&attempts[attempts.count - 1])
    }
}

/// The histories of final downloads, up to a limit.
package struct EndedTrails: Sendable {
    package static let maxCount = 200

    private var trails: [String: Trail] = [:]
    private var order: [String] = []

    package init() {}

    package subscript(id: String) -> Trail? { trails[id] }

    package mutating func keep(_ trail: Trail, id: String) {
        guard !trail.attempts.isEmpty else { return }
        if trails.updateValue(trail, forKey: id) != nil { return }
        order.append(id)
        if order.count > Self.maxCount { trails[order.removeFirst()] = nil }
    }
}
