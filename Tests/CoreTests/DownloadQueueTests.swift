import Testing

@testable import Core

@Suite struct DownloadQueueTests {
    private func admitted(_ queue: inout DownloadQueue, _ maxActive: Int = 100, perHost: Int = 100, now: Int64 = 0)
        -> [String]
    {
        var ids: [String] = []
        while let id = queue.admitNext(maxActive: maxActive, maxActivePerHost: perHost, now: now) { ids.append(id) }
        return ids
    }

    @Test func `first in, first out within a priority, and never more than there are slots`() {
        var queue = DownloadQueue()
        for (id, priority) in [("a", Int64(0)), ("b", 5), ("c", 0), ("d", 5)] {
            queue.add(id, host: "h", priority: priority)
        }
        #expect(admitted(&queue, 3) == ["b", "d", "a"])
        #expect(queue.activeCount == 3)
        queue.leave("d")
        queue.leave("d")
        #expect(queue.activeCount == 2)
        #expect(admitted(&queue, 3) == ["c"])
        #expect(Set(queue.activeIDs) == ["a", "b", "c"])
    }

    @Test func `a host at its limit holds up nobody else`() {
        var queue = DownloadQueue()
        for id in ["a1", "a2", "a3"] { queue.add(id, host: "a", priority: 0) }
        queue.add("b1", host: "b", priority: 0)
        #expect(admitted(&queue, 10, perHost: 2) == ["a1", "a2", "b1"])
        queue.leave("a1")
        #expect(admitted(&queue, 10, perHost: 2) == ["a3"])
    }

    @Test func `a place that was given back is earlier than all that came later`() throws {
        var queue = DownloadQueue()
        queue.add("a", host: "h", priority: 0)
        queue.add("b", host: "h", priority: 0)
        #expect(admitted(&queue) == ["a", "b"])
        let place = try #require(queue.place(of: "a"))
        queue.leave("a")
        #expect(queue.place(of: "a") == nil)
        queue.add("c", host: "h", priority: 0)
        queue.add("a", host: "h", priority: 0, place: place)
        #expect(admitted(&queue) == ["a", "c"])
    }

    @Test func `a new priority moves one that waits, and no other`() {
        var queue = DownloadQueue()
        queue.add("active", host: "h", priority: 0)
        #expect(admitted(&queue) == ["active"])
        queue.reprioritize("active", 9)
        queue.reprioritize("unknown", 9)
        for id in ["a", "b"] { queue.add(id, host: "h", priority: 0) }
        queue.reprioritize("b", 1)
        #expect(admitted(&queue) == ["b", "a"])
        #expect(queue.activeCount == 3)
    }

    @Test func `in any order of events a slot is held once, and by those that were admitted`() {
        var generator = SystemRandomNumberGenerator()
        var queue = DownloadQueue()
        var waiting: Set<String> = []
        var active: Set<String> = []
        for _ in 0..<5_000 {
            let id = "d\(Int.random(in: 0..<20, using: &generator))"
            switch Int.random(in: 0..<4, using: &generator) {
            case 0 where !active.contains(id):
                queue.add(id, host: "h\(id.utf8.count)", priority: Int64.random(in: 0..<3, using: &generator))
                waiting.insert(id)
            case 1:
                queue.leave(id)
                waiting.remove(id)
                active.remove(id)
            case 2: queue.reprioritize(id, Int64.random(in: 0..<3, using: &generator))
            default:
                guard let next = queue.admitNext(maxActive: 5, maxActivePerHost: 4, now: 0) else { break }
                #expect(waiting.remove(next) != nil)
                #expect(active.insert(next).inserted)
            }
            #expect(Set(queue.activeIDs) == active && queue.activeCount == active.count)
            #expect(active.count <= 5)
        }
    }

    @Test func `while many files are being finished no other starts, unless none of them gets done`() {
        var queue = DownloadQueue()
        for number in 0..<DownloadQueue.maxFinishing {
            queue.add("f\(number)", host: "h", priority: 0)
            #expect(admitted(&queue, now: 0) == ["f\(number)"])
            queue.finish("f\(number)")
            #expect(queue.activeCount == 0)
        }
        queue.add("a", host: "h", priority: 0)
        queue.add("b", host: "h", priority: 0)
        #expect(admitted(&queue, now: 0).isEmpty)
        #expect(queue.isHeldBack)
        queue.leave("f0")
        #expect(admitted(&queue, 1, now: 1) == ["a"])
        queue.finish("a")
        #expect(admitted(&queue, now: 2).isEmpty)
        let end = 2 + DownloadQueue.patienceNanoseconds
        #expect(admitted(&queue, now: end - 1).isEmpty)
        #expect(admitted(&queue, now: end) == ["b"])
        // It is not over with one that was let through.
        queue.add("c", host: "h", priority: 0)
        queue.leave("f1")
        queue.leave("f2")
        #expect(admitted(&queue, now: end) == ["c"])
        #expect(!queue.isHeldBack)
    }
}
