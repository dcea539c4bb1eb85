internal import Core

/// Who waits for a slot and who has one.
///
/// First in, first out by the time a download last became ready; releasing is idempotent, so a slot never leaks.
struct DownloadQueue {
    private var policy = QueuePolicy()
    private var slots = SlotLedger()
    private var hosts: [String: String] = [:]
    private var readySequences: [String: Int64] = [:]
    private var nextReadySequence: Int64 = 1

    var activeCount: Int { slots.activeCount }

    /// The ids of those that have a slot.
    var activeIDs: [String] { slots.ids }

    /// - Parameter place: one that it had before; nil: the end.
    mutating func add(_ id: String, host: String, priority: Int64, place: Int64? = nil) {
        let sequence = place ?? nextReadySequence
        policy.enqueue(id, host: host, readySequence: sequence, priority: priority)
        hosts[id] = host
        readySequences[id] = sequence
        if place == nil { nextReadySequence += 1 }
    }

    /// Where it stands, or stood when it got its slot; less is earlier.
    func place(of id: String) -> Int64? { readySequences[id] }

    /// Gives the next download its slot; nil when none may start now.
    mutating func admitNext(_ settings: EngineSettings) -> String? {
        guard
            let id = policy.next(
                maxActive: settings.maxActive, maxActivePerHost: settings.maxActivePerHost, slots: slots)
        else { return nil }
        slots.acquire(id, host: hosts[id] ?? "")
        return id
    }

    /// Moves a waiting download to where its priority belongs, among those of that priority by when it became ready.
    mutating func reprioritize(_ id: String, _ priority: Int64) {
        guard policy.contains(id), let host = hosts[id], let sequence = readySequences[id] else { return }
        policy.enqueue(id, host: host, readySequence: sequence, priority: priority)
    }

    /// Takes a download out, waiting or active.
    mutating func leave(_ id: String) {
        policy.remove(id)
        slots.release(id)
        hosts[id] = nil
        readySequences[id] = nil
    }
}
