import Testing

@testable import Core

@Suite struct QueuePolicyTests {
    private static func drain(_ queue: inout QueuePolicy, slots: SlotLedger = SlotLedger()) -> [String] {
        var result: [String] = []
        while let id = queue.next(maxActive: .max, maxActivePerHost: .max, slots: slots) { result.append(id) }
        return result
    }

    @Test func `first ready, first out, whatever the order of arrival`() {
        var queue = QueuePolicy()
        for (id, sequence) in [("c", 3), ("a", 1), ("d", 4), ("b", 2)] as [(String, Int64)] {
            queue.enqueue(id, host: id == "b" ? "y" : "x", readySequence: sequence)
        }
        #expect(Self.drain(&queue) == ["a", "b", "c", "d"])
        #expect(queue.isEmpty)
    }

    @Test func `higher priority goes first, in its own order`() {
        var queue = QueuePolicy()
        queue.enqueue("low", host: "x", readySequence: 1, priority: -1)
        queue.enqueue("a", host: "x", readySequence: 2)
        queue.enqueue("high2", host: "y", readySequence: 5, priority: 7)
        queue.enqueue("high1", host: "x", readySequence: 4, priority: 7)
        #expect(Self.drain(&queue) == ["high1", "high2", "a", "low"])
    }

    @Test func `a host at its limit holds up nobody else`() {
        var queue = QueuePolicy()
        var slots = SlotLedger()
        slots.acquire("busy", host: "x")
        for number in 1...50 { queue.enqueue("x\(number)", host: "x", readySequence: Int64(number)) }
        queue.enqueue("y", host: "y", readySequence: 99)
        #expect(queue.next(maxActive: 8, maxActivePerHost: 1, slots: slots) == "y")
        #expect(queue.next(maxActive: 8, maxActivePerHost: 1, slots: slots) == nil)
        slots.release("busy")
        #expect(queue.next(maxActive: 8, maxActivePerHost: 1, slots: slots) == "x1")
        #expect(queue.count == 49)
    }

    @Test func `no more than the limit start`() {
        var queue = QueuePolicy()
        var slots = SlotLedger()
        for number in 1...5 { queue.enqueue("\(number)", host: "h\(number)", readySequence: Int64(number)) }
        while let id = queue.next(maxActive: 3, maxActivePerHost: 6, slots: slots) { slots.acquire(id, host: id) }
        #expect(slots.activeCount == 3)
        #expect(queue.count == 2)
        #expect(queue.next(maxActive: 0, maxActivePerHost: 6, slots: SlotLedger()) == nil)
    }

    @Test func `enqueuing again moves`() {
        var queue = QueuePolicy()
        queue.enqueue("a", host: "x", readySequence: 1)
        queue.enqueue("b", host: "x", readySequence: 2)
        queue.enqueue("a", host: "y", readySequence: 3)
        #expect(queue.count == 2)
        #expect(queue.contains("a"))
        #expect(Self.drain(&queue) == ["b", "a"])
    }

    @Test func `removing is idempotent`() {
        var queue = QueuePolicy()
        queue.enqueue("a", host: "x", readySequence: 1)
        #expect(queue.remove("a") == true)
        #expect(queue.remove("a") == false)
        #expect(!queue.contains("a"))
        #expect(Self.drain(&queue).isEmpty)
    }

    private struct Waiting {
        var id: String
        var host: String
        var sequence: Int64
        var priority: Int64
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `it agrees with a sorted list under random use`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var queue = QueuePolicy()
        var slots = SlotLedger()
        var model: [Waiting] = []
        for step in 0..<1_000 {
            let id = "d\(Int.random(in: 0..<40, using: &generator))"
            switch Int.random(in: 0..<5, using: &generator) {
            case 0, 1:
                let entry = Waiting(
                    id: id, host: "h\(Int.random(in: 0..<6, using: &generator))", sequence: Int64(step),
                    priority: Int64.random(in: 0..<3, using: &generator))
                queue.enqueue(id, host: entry.host, readySequence: entry.sequence, priority: entry.priority)
                model.removeAll { $0.id == id }
                model.append(entry)
            case 2:
                #expect(queue.remove(id) == model.contains { $0.id == id })
                model.removeAll { $0.id == id }
            case 3:
                slots.release(id)
            default:
                let expected = slots.activeCount < 8 ? model.filter { slots.activeCount(host: $0.host) < 2 } : []
                let first = expected.min { ($1.priority, $0.sequence) < ($0.priority, $1.sequence) }
                #expect(queue.next(maxActive: 8, maxActivePerHost: 2, slots: slots) == first?.id)
                if let first {
                    model.removeAll { $0.id == first.id }
                    slots.acquire(first.id, host: first.host)
                }
            }
            #expect(queue.count == model.count)
        }
    }

    @Test func `a long queue of few hosts gives its turns in order`() {
        var queue = QueuePolicy()
        for number in 0..<20_000 {
            queue.enqueue("\(number)", host: "h\(number % 7)", readySequence: Int64(number))
        }
        for number in 0..<1_000 {
            #expect(queue.next(maxActive: 9, maxActivePerHost: 1, slots: SlotLedger()) == "\(number)")
        }
        #expect(queue.count == 19_000)
    }
}

@Suite struct SlotLedgerTests {
    @Test func `acquiring and releasing twice counts once`() {
        var slots = SlotLedger()
        #expect(slots.acquire("a", host: "x") == true)
        #expect(slots.acquire("a", host: "x") == false)
        #expect(slots.activeCount == 1)
        #expect(slots.activeCount(host: "x") == 1)
        #expect(slots.release("a") == true)
        #expect(slots.release("a") == false)
        #expect(slots == SlotLedger())
    }

    @Test func `another host moves the slot`() {
        var slots = SlotLedger()
        slots.acquire("a", host: "x")
        #expect(slots.acquire("a", host: "y") == true)
        #expect(slots.activeCount(host: "x") == 0)
        #expect(slots.activeCount(host: "y") == 1)
        #expect(slots.holds("a"))
    }

    @Test func `random use never leaks`() {
        var generator = SeededGenerator(seed: 3)
        var slots = SlotLedger()
        var model: [String: String] = [:]
        for _ in 0..<2_000 {
            let id = "\(Int.random(in: 0..<9, using: &generator))"
            let host = "h\(Int.random(in: 0..<3, using: &generator))"
            if Bool.random(using: &generator) {
                slots.acquire(id, host: host)
                model[id] = host
            } else {
                slots.release(id)
                model[id] = nil
            }
            #expect(slots.activeCount == model.count)
            #expect(slots.activeCount(host: host) == model.values.count { $0 == host })
        }
        for id in model.keys { slots.release(id) }
        #expect(slots == SlotLedger())
    }
}
