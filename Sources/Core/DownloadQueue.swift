/// Which downloads wait for a slot, and which have one.
///
/// First in, first out by the time at which a download last became ready; releasing is idempotent, so a slot never
/// leaks.
package struct DownloadQueue: Sendable {
    private var policy = QueuePolicy()
    private var slots = SlotLedger()
    private var hosts: [String: String] = [:]
    private var readySequences: [String: Int64] = [:]
    private var nextReadySequence: Int64 = 1
    private var finishing: Set<String> = []
    /// Since when no finishing download has left, while there are as many as may be; in monotonic nanoseconds.
    private var heldBackSince: Int64?

    /// Files that may be on their way to durability before others must wait; each has an open descriptor.
    package static let maxFinishing = 256
    /// A disk that finishes nothing for so long must not hold up downloads to other disks.
    package static let patienceNanoseconds: Int64 = 5_000_000_000

    package init() {}

    /// How many downloads have a slot.
    package var activeCount: Int { slots.activeCount }

    /// The ids of the downloads that have a slot.
    package var activeIDs: [String] { slots.ids }

    /// - Parameter place: an earlier place; nil: the end.
    package mutating func add(_ id: String, host: String, priority: Int64, place: Int64? = nil) {
        let sequence = place ?? nextReadySequence
        policy.enqueue(id, host: host, readySequence: sequence, priority: priority)
        hosts[id] = host
        readySequences[id] = sequence
        if place == nil { nextReadySequence += 1 }
    }

    /// Its place, or its place when it got its slot; a lower one is earlier.
    package func place(of id: String) -> Int64? { readySequences[id] }

    /// Gives the next download its slot; nil if none may start now.
    ///
    /// - Parameter now: in monotonic nanoseconds.
    package mutating func admitNext(maxActive: Int, maxActivePerHost: Int, now: Int64) -> String? {
        guard !mustWait(now),
            let id = policy.next(maxActive: maxActive, maxActivePerHost: maxActivePerHost, slots: slots)
        else { return nil }
        slots.acquire(id, host: hosts[id] ?? "")
        return id
    }

    /// Moves a waiting download to the place for its priority; within a priority the order is by when they became
    /// ready.
    package mutating func reprioritize(_ id: String, _ priority: Int64) {
        guard policy.contains(id), let host = hosts[id], let sequence = readySequences[id] else { return }
        policy.enqueue(id, host: host, readySequence: sequence, priority: priority)
    }

    private mutating func mustWait(_ now: Int64) -> Bool {
        guard finishing.count >= Self.maxFinishing else { return false }
        let since = heldBackSince ?? now
        heldBackSince = since
        return now - since < Self.patienceNanoseconds
    }

    /// All bytes were received: the slot is free, and what remains is the disk's work.
    package mutating func finish(_ id: String) {
        leave(id)
        finishing.insert(id)
    }

    /// How many files are being finished.
    package var finishingCount: Int { finishing.count }

    /// True while files are being finished for which others wait.
    package var isHeldBack: Bool { heldBackSince != nil }

    /// Removes a download, waiting, active or finishing.
    package mutating func leave(_ id: String) {
        if finishing.remove(id) != nil { heldBackSince = nil }
        policy.remove(id)
        slots.release(id)
        hosts[id] = nil
        readySequences[id] = nil
    }
}
