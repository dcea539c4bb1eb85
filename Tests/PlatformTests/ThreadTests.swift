import Foundation
import Platform
import Synchronization
import Testing

@Suite struct ThreadTests {
    @Test func `a thread runs its body elsewhere, under its name, and can be joined`() throws {
        let seen = Guarded<(id: UInt, name: String)?>(nil)
        let thread = try Thread(name: "sixteen letters!") {
            let bytes = (try? readFile("/proc/thread-self/comm", limitByteCount: 64)) ?? []
            let name = String(decoding: bytes.prefix { $0 != 10 }, as: UTF8.self)
            seen.withLock { $0 = (Platform.Thread.current, name) }
        }
        thread.join()
        let (id, name) = try #require(seen.withLock { $0 })
        #expect(id != Platform.Thread.current)
        #expect(name == "sixteen letters")
    }

    @Test func `what a thread's body holds is let go when it ends`() throws {
        final class Canary: Sendable {}
        var canary: Canary? = Canary()
        weak let watched = canary
        let thread = try Thread(name: "canary") { [canary] in _ = canary }
        canary = nil
        thread.join()
        #expect(watched == nil)
    }

    @Test func `a signal given before the wait is not lost, and all are taken at once`() throws {
        let wakeUp = try WakeUp()
        wakeUp.signal()
        wakeUp.signal()
        wakeUp.wait(timeoutMilliseconds: -1)
        var request = pollfd(fd: wakeUp.raw, events: Int16(POLLIN), revents: 0)
        #expect(poll(&request, 1, 0) == 0)
        wakeUp.signal()
        #expect(poll(&request, 1, 0) == 1)
        wakeUp.drain()
        #expect(poll(&request, 1, 0) == 0)
    }

    @Test func `a guarded count that eight threads raise is right`() throws {
        let count = Guarded(0)
        let box = Box(count: count)
        let threads = try (0..<8).map { index in
            try Thread(name: "count \(index)") { for _ in 0..<10_000 { box.count.withLock { $0 += 1 } } }
        }
        for thread in threads { thread.join() }
        #expect(box.count.withLock { $0 } == 80_000)
    }

    private final class Box: Sendable {
        let count: Guarded<Int>
        init(count: consuming Guarded<Int>) { self.count = count }
    }
}
