/// The downloads that wait for a slot, in order.
///
/// Higher priority first, then the one that became ready first.  A host at its limit delays only its own downloads.
/// Every operation costs O(log n); `next` also visits the hosts that are at their limit, never more than are active.
package struct QueuePolicy: Sendable {
    private struct Turn: Comparable, Sendable {
        var priority: Int64
        var readySequence: Int64

        static func < (left: Turn, right: Turn) -> Bool {
            if left.priority != right.priority { return left.priority > right.priority }
            return left.readySequence < right.readySequence
        }
    }

    private var queues: [String: IndexedHeap<String, Turn>] = [:]
    /// Each host with waiting downloads, with the turn of its first one.
    private var hosts = IndexedHeap<String, Turn>()
    private var hostsByID: [String: String] = [:]

    package init() {}

    /// The number of waiting downloads.
    package var count: Int { hostsByID.count }
    package var isEmpty: Bool { hostsByID.isEmpty }

    /// True while the download waits.
    package func contains(_ id: String) -> Bool { hostsByID[id] != nil }

    /// Adds a download, or moves it to where its new values belong.
    ///
    /// `readySequence` orders the downloads by when they became ready; no two waiting downloads have the same.
    package mutating func enqueue(_ id: String, host: String, readySequence: Int64, priority: Int64 = 0) {
        if let former = hostsByID[id], former != host { remove(id) }
        hostsByID[id] = host
        queues[host, default: IndexedHeap()].update(id, key: Turn(priority: priority, readySequence: readySequence))
        reconsider(host)
    }

    /// Takes a download out; false when it was not waiting.
    @discardableResult
    package mutating func remove(_ id: String) -> Bool {
        guard let host = hostsByID.removeValue(forKey: id) else { return false }
        queues[host]?.remove(id)
        reconsider(host)
        return true
    }

    /// Removes and returns the download that may start now; nil when none may.
    ///
    /// `slots` are those in use; the caller acquires one for the returned download before it asks again.
    package mutating func next(maxActive: Int, maxActivePerHost: Int, slots: SlotLedger) -> String? {
        guard slots.activeCount < maxActive,
            let host = hosts.first(where: { slots.activeCount(host: $0.id) < maxActivePerHost }),
            let id = queues[host.id]?.first?.id
        else { return nil }
        remove(id)
        return id
    }

    /// Updates the host's place to that of its first download.
    private mutating func reconsider(_ host: String) {
        if let turn = queues[host]?.first?.key {
            hosts.update(host, key: turn)
        } else {
            queues[host] = nil
            hosts.remove(host)
        }
    }
}
