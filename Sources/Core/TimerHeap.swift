/// Due times, soonest first; those due at the same time in the order in which they were added.
///
/// Times are monotonic nanoseconds. Nothing is removed early: the receiver of a due payload checks whether it is still
/// valid.
package struct TimerHeap<Payload> {
    private struct Due: Comparable {
        var time: Int64
        var number: UInt64

        static func < (left: Due, right: Due) -> Bool {
            left.time != right.time ? left.time < right.time : left.number < right.number
        }
    }

    private var heap = IndexedHeap<UInt64, Due>()
    private var payloads: [UInt64: Payload] = [:]
    private var nextNumber: UInt64 = 0

    package init() {}

    /// When the next payload is due; nil if there is none.
    package var nextDue: Int64? { heap.first?.key.time }

    package mutating func add(_ payload: Payload, due: Int64) {
        heap.update(nextNumber, key: Due(time: due, number: nextNumber))
        payloads[nextNumber] = payload
        nextNumber += 1
    }

    /// Removes and returns the soonest payload if it is due by `now`.
    package mutating func popDue(now: Int64) -> Payload? {
        guard let first = heap.first, first.key.time <= now else { return nil }
        heap.remove(first.id)
        return payloads.removeValue(forKey: first.id)
    }
}
