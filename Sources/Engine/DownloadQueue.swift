internal import Core

/// Who waits for a slot and who has one.
///
/// First in, first out by the time a download last became ready; releasing is idempotent, so a slot never leaks.
struct DownloadQueue {
    private var policy = QueuePolicy()
    private var slots = SlotLedger()
    private var hosts: [String: String] = [:]
    private var nextReadySequence: Int64 = 1

    var activeCount: Int { slots.activeCount }

    mutating func add(_ id: String, host: String, priority: Int64) {
        policy.enqueue(id, host: host, readySequence: nextReadySequence, priority: priority)
        hosts[id] = host
        nextReadySequence += 1
    }

    /// Gives the next download its slot; nil when none may start now.
    mutating func admitNext(_ settings: EngineSettings) -> String? {
        guard
            let id = policy.next(
                maxActive: settings.maxActive, maxActivePerHost: settings.maxActivePerHost, slots: slots)
        else { return nil }
        slots.acquire(id, host: hosts[id] ?? "")
        return id
    }

    /// Takes a download out, waiting or active.
    mutating func leave(_ id: String) {
        policy.remove(id)
        slots.release(id)
        hosts[id] = nil
    }
}
