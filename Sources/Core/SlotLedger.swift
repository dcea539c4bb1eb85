/// Which downloads have a slot, and on which host.
///
/// `acquire` and `release` may be repeated for one id without effect, so that no path through the engine leaks a slot
/// or frees one twice.
package struct SlotLedger: Equatable, Sendable {
    private var hostsByID: [String: String] = [:]
    private var counts: [String: Int] = [:]

    package init() {}

    /// The number of slots in use.
    package var activeCount: Int { hostsByID.count }

    /// The number of slots in use on that host.
    package func activeCount(host: String) -> Int { counts[host] ?? 0 }

    /// The downloads with a slot, in no order.
    package var ids: [String] { Array(hostsByID.keys) }

    /// True while the download has a slot.
    package func holds(_ id: String) -> Bool { hostsByID[id] != nil }

    /// Gives the download a slot; false when it already has one on that host.  A slot on another host is moved.
    @discardableResult
    package mutating func acquire(_ id: String, host: String) -> Bool {
        if hostsByID[id] == host { return false }
        release(id)
        hostsByID[id] = host
        counts[host, default: 0] += 1
        return true
    }

    /// Takes the slot back; false when it had none.
    @discardableResult
    package mutating func release(_ id: String) -> Bool {
        guard let host = hostsByID.removeValue(forKey: id) else { return false }
        let count = activeCount(host: host) - 1
        counts[host] = count > 0 ? count : nil
        return true
    }
}
