internal import Core

/// Which downloads wait for a slot, and which have one.
///
/// First in, first out by the time at which a download last became ready; releasing is idempotent, so a slot never
/// leaks.
struct DownloadQueue {
    private var policy = QueuePolicy()
    private var slots = SlotLedger()
    private var hosts: [String: String] = [:]
    private var readySequences: [String: Int64] = [:]
    private var nextReadySequence: Int64 = 1

    var activeCount: Int { slots.activeCount }

    /// The ids of the downloads that have a slot.
    var activeIDs: [String] { slots.ids }

    /// - Parameter place: an earlier place; nil: the end.
    mutating func add(_ id: String, host: String, priority: Int64, place: Int64? = nil) {
        let sequence = place ?? nextReadySequence
        policy.enqueue(id, host: host, readySequence: sequence, priority: priority)
        hosts[id] = host
        readySequences[id] = sequence
        if place == nil { nextReadySequence += 1 }
    }

    /// Its place, or its place when it got its slot; a lower one is earlier.
    func place(of id: String) -> Int64? { readySequences[id] }

    /// Gives the next download its slot; nil if none may start now.
    mutating func admitNext(_ settings: EngineSettings) -> String? {
        guard
            let id = policy.next(
                maxActive: settings.maxActive, maxActivePerHost: settings.maxActivePerHost, slots: slots)
        else { return nil }
        slots.acquire(id, host: hosts[id] ?? "")
        return id
    }

    /// Moves a waiting download to the place for its priority; within a priority the order is by when they became
    /// ready.
    mutating func reprioritize(_ id: String, _ priority: Int64) {
        guard policy.contains(id), let host = hosts[id], let sequence = readySequences[id] else { return }
        policy.enqueue(id, host: host, readySequence: sequence, priority: priority)
    }

    /// Removes a download, waiting or active.
    mutating func leave(_ id: String) {
        policy.remove(id)
        slots.release(id)
        hosts[id] = nil
        readySequences[id] = nil
    }
}
