import Curl
import Platform
import TestSupport
import Testing

/// Answers messages; sleeps without a limit, so that a lost wake-up hangs.
private actor Echo: LoopOwner {
    struct Message: Sendable {
        var reply: @Sendable () -> Void
    }
    nonisolated let loop: CurlLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    nonisolated let inbox: Mailbox<Message>
    private let session: MultiSession
    private(set) var turnCount = 0
    private(set) var wasAlwaysOnLoop = true
    private var value = 0

    init(loop: CurlLoop) throws {
        self.loop = loop
        inbox = try Mailbox { loop.wake() }
        session = try MultiSession()
    }

    func turn() -> Int32 {
        turnCount += 1
        if !loop.isOnLoopThread { wasAlwaysOnLoop = false }
        for message in inbox.takeAll() { message.reply() }
        return -1
    }

    func wait(wakeUp: Int32, timeoutMilliseconds: Int32) {
        session.poll(wakeUp: wakeUp, timeoutMilliseconds: timeoutMilliseconds == 0 ? 0 : .max)
    }

    func close() { session.close() }

    func increment() -> Int {
        if !loop.isOnLoopThread { wasAlwaysOnLoop = false }
        value += 1
        return value
    }
}

@Suite(.timeLimit(.minutes(1)))
struct CurlLoopTests {
    /// Runs a body with an echo on its own loop.
    private func withEcho(_ body: (Echo, CurlLoop) async throws -> Void) async throws {
        let loop = try CurlLoop()
        let echo = try Echo(loop: loop)
        let thread = try loop.start(echo)
        defer {
            loop.stop()
            thread.join()
        }
        try await body(echo, loop)
    }

    @Test func `the actor runs on the loop's thread, from tasks and from outside of them`() async throws {
        try await withEcho { echo, loop in
            #expect(!loop.isOnLoopThread)
            #expect(await echo.increment() == 1)
            // On the loop thread but not in a task: the isolation is still known.
            let value = await withCheckedContinuation { continuation in
                echo.inbox.send(Echo.Message { continuation.resume(returning: assumed(echo)) })
            }
            #expect(value == 2)
            #expect(await echo.wasAlwaysOnLoop)
        }
    }

    @Test func `no wake-up of eight threads is lost`() async throws {
        try await withEcho { echo, _ in
            let counts = Guarded([Int](repeating: 0, count: 8))
            let done = try Mailbox<Int>()
            let threads = try (0..<8).map { number in
                try Platform.Thread(name: "pinger") { [inbox = echo.inbox] in
                    guard let replied = try? Mailbox<Bool>() else { return }
                    for _ in 0..<500 {
                        inbox.send(Echo.Message { replied.send(true) })
                        // Waits for every reply, so that the loop falls asleep again and again.
                        _ = replied.waitAndTakeAll()
                        counts.withLock { $0[number] += 1 }
                    }
                    done.send(number)
                }
            }
            try await join(threads)
            #expect(done.takeAll().count == 8)
            #expect(counts.withLock { $0 } == [Int](repeating: 500, count: 8))
        }
    }

    @Test func `no job of eight tasks is lost`() async throws {
        try await withEcho { echo, _ in
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<8 {
                    group.addTask { for _ in 0..<500 { _ = await echo.increment() } }
                }
            }
            #expect(await echo.increment() == 8 * 500 + 1)
            #expect(await echo.wasAlwaysOnLoop)
        }
    }

    @Test func `jobs that wait when the loop stops are still run`() async throws {
        let loop = try CurlLoop()
        let echo = try Echo(loop: loop)
        let tasks = (0..<1_000).map { _ in Task { await echo.increment() } }
        let thread = try loop.start(echo)
        for task in tasks { _ = await task.value }
        loop.stop()
        try await join([thread])
        #expect(await echo.increment() == 1_001)
    }

    @Test func `calls after the end are still answered, one at a time`() async throws {
        let loop = try CurlLoop()
        let echo = try Echo(loop: loop)
        let thread = try loop.start(echo)
        loop.stop()
        try await join([thread])
        #expect(!loop.isOnLoopThread)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask { for _ in 0..<100 { _ = await echo.increment() } }
            }
        }
        #expect(await echo.increment() == 801)
        #expect(await echo.wasAlwaysOnLoop)
    }

    @Test func `a closed session takes no transfer`() async throws {
        let session = try MultiSession()
        session.close()
        let transfer = try Transfer(TransferRequest(url: try URLParser.parse("http://127.0.0.1/")))
        #expect(throws: CurlError.self) { try session.add(transfer) }
    }

    /// Joins threads on the global pool, which blocks only briefly because they have ended.
    private func join(_ threads: [Platform.Thread]) async throws {
        let done = try Signal()
        let joiner = try Platform.Thread(name: "joiner") {
            for thread in threads { thread.join() }
            done.set()
        }
        await done.wait()
        joiner.join()
    }
}

/// In a synchronous function: `assumeIsolated` is not available in asynchronous ones.
private func assumed(_ echo: Echo) -> Int {
    echo.assumeIsolated { $0.increment() }
}
