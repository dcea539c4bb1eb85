/// Due times, soonest first.
///
/// Times are monotonic nanoseconds. Nothing is removed early: the receiver of a due payload checks whether it is still
/// valid.
struct TimerHeap<Payload> {
    private var heap: [(due: Int64, payload: Payload)] = []

    /// When the next payload is due; nil if there is none.
    var nextDue: Int64? { heap.first?.due }

    mutating func add(_ payload: Payload, due: Int64) {
        heap.append((due, payload))
        var child = heap.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            if heap[parent].due <= heap[child].due { break }
            heap.swapAt(parent, child)
            child = parent
        }
    }

    /// Removes and returns the soonest payload if it is due by `now`.
    mutating func popDue(now: Int64) -> Payload? {
        guard let first = heap.first, first.due <= now else { return nil }
        let last = heap.removeLast()
        if !heap.isEmpty {
            heap[0] = last
            sink()
        }
        return first.payload
    }

    private mutating func sink() {
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count && heap[child].due < heap[least].due
            {
                least = child
            }
            if least == parent { return }
            heap.swapAt(parent, least)
            parent = least
        }
    }
}
