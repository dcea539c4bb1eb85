import Platform
import RPC
import Testing

@Suite(.timeLimit(.minutes(1))) struct OutputQueueTests {
    /// More than a pipe can buffer: the writer blocks until a reader reads.
    private let giant = [UInt8](repeating: 0x67, count: 3 << 20)
    private let timeoutMilliseconds = 30_000

    private func makeQueue(
        _ descriptor: consuming FileDescriptor, _ backpressure: Backpressure, failures: Mailbox<Errno>
    ) throws -> OutputQueue {
        try OutputQueue(
            descriptor: descriptor,
            backpressure: backpressure,
            encodeEventsLost: { Array("lost \($0.lowerBound)-\($0.upperBound)".utf8) },
            onFailure: { failures.send($0) }
        )
    }

    private func lines(_ bytes: [UInt8]) -> [String] {
        bytes.split(separator: UInt8(ascii: "\n")).map {
            $0.count > 1000 ? "giant" : String(decoding: $0, as: UTF8.self)
        }
    }

    private func close(_ queue: OutputQueue) async -> Bool {
        await onThread { [timeoutMilliseconds] in queue.close(timeoutMilliseconds: timeoutMilliseconds) }
    }

    @Test(arguments: [false, true])
    func `everything arrives whole and in order`(isNonBlocking: Bool) async throws {
        let pipe = try Pipe(isWriterNonBlocking: isNonBlocking)
        let backpressure = try Backpressure()
        let failures = try Mailbox<Errno>()
        let queue = try makeQueue(pipe.takeWriter(), backpressure, failures: failures)
        let expected = (0..<20_000).map { "\($0)" }
        async let received = pipe.read(atMost: expected.reduce(0) { $0 + $1.utf8.count + 1 })
        for index in 0..<20_000 {
            if index % 2 == 0 {
                queue.sendReply(Array("\(index)".utf8))
            } else {
                queue.sendEvent(Array("\(index)".utf8), sequence: Int64(index))
            }
        }
        #expect(await close(queue))
        #expect(queue.unsentReplyByteCount == 0 && backpressure.count == 0)
        #expect(await lines(received) == expected)
        #expect(failures.isEmpty)
    }

    @Test func `header framing from when it is set`() async throws {
        let pipe = try Pipe()
        let queue = try makeQueue(pipe.takeWriter(), Backpressure(), failures: Mailbox())
        queue.setFraming(.header)
        queue.sendReply(Array("{}".utf8))
        queue.sendEvent(Array("[1]".utf8), sequence: 1)
        #expect(await close(queue))
        let expected = "Content-Length: 2\r\n\r\n{}Content-Length: 3\r\n\r\n[1]"
        let received = await pipe.read(atMost: expected.utf8.count)
        #expect(String(decoding: received, as: UTF8.self) == expected)
    }

    @Test func `a stalled reader costs progress and then events but no answers`() async throws {
        let pipe = try Pipe()
        let backpressure = try Backpressure()
        let queue = try makeQueue(pipe.takeWriter(), backpressure, failures: Mailbox())
        queue.sendReply(giant)
        for index in 1...1000 { queue.sendProgress(Array("p\(index)".utf8), id: "a") }
        queue.sendProgress(Array("q".utf8), id: "b")
        queue.discardProgress(id: "b")
        let event = String(repeating: "e", count: 1000)
        let eventCount = 6000
        for sequence in 1...eventCount { queue.sendEvent(Array(event.utf8), sequence: Int64(sequence)) }
        queue.sendReply(Array("r".utf8))
        #expect(queue.unsentReplyByteCount == giant.count + 1)
        #expect(backpressure.count == 2)
        let kept = (4 << 20) / event.utf8.count
        let last = ["lost \(kept + 1)-\(eventCount)", "r"]
        let expected = ["giant", "p1000"] + Array(repeating: event, count: kept) + last
        let byteCount = giant.count + expected[1...].reduce(1) { $0 + $1.utf8.count + 1 }
        async let received = pipe.read(atMost: byteCount)
        #expect(await close(queue))
        #expect(lines(await received) == expected)
    }

    @Test func `events flow again after a gap was told`() async throws {
        let pipe = try Pipe()
        let queue = try makeQueue(pipe.takeWriter(), Backpressure(), failures: Mailbox())
        queue.sendReply(giant)
        let event = [UInt8](repeating: 0x65, count: 1 << 20)
        for sequence in 1...6 { queue.sendEvent(event, sequence: Int64(sequence)) }
        // All that is queued, up to the notice and its newline.
        let first = await pipe.read(atMost: giant.count + 1 + 4 * (event.count + 1) + "lost 5-6\n".utf8.count)
        #expect(lines(first).last == "lost 5-6")
        queue.sendEvent(Array("next".utf8), sequence: 7)
        #expect(await close(queue))
        #expect(lines(await pipe.read(atMost: 5)) == ["next"])
    }

    @Test func `closing gives up on a host that never reads`() async throws {
        let pipe = try Pipe()
        let failures = try Mailbox<Errno>()
        let queue = try makeQueue(pipe.takeWriter(), Backpressure(), failures: failures)
        queue.sendReply(giant)
        queue.sendReply(Array("never".utf8))
        #expect(await onThread { queue.close(timeoutMilliseconds: 20) } == false)
        // Unblocks the writer thread, which then reports a failure.
        pipe.close()
        #expect(await onThread { failures.waitAndTakeAll() } == [.pipe])
        #expect(await close(queue) == false)
    }

    @Test func `nothing is taken after closing`() async throws {
        let pipe = try Pipe()
        let queue = try makeQueue(pipe.takeWriter(), Backpressure(), failures: Mailbox())
        queue.sendReply(Array("a".utf8))
        #expect(await close(queue))
        queue.sendReply(Array("b".utf8))
        #expect(queue.unsentReplyByteCount == 0)
        #expect(await close(queue))
        // The queue keeps the writing end open.
        #expect(lines(await pipe.read(atMost: 2)) == ["a"])
    }

    @Test func `a reader that has gone is told once and frees what waited`() async throws {
        let pipe = try Pipe()
        let backpressure = try Backpressure()
        let failures = try Mailbox<Errno>()
        let queue = try makeQueue(pipe.takeWriter(), backpressure, failures: failures)
        pipe.close()
        queue.sendReply(Array("a".utf8))
        #expect(await onThread { failures.waitAndTakeAll() } == [.pipe])
        for _ in 0..<100 { queue.sendReply(Array("b".utf8)) }
        #expect(await close(queue) == false)
        #expect(backpressure.count == 0 && backpressure.byteCount == 0)
        #expect(failures.isEmpty)
    }

    @Test func `what waits is written when the closing begins, and what comes is dropped`() async throws {
        let pipe = try Pipe()
        let backpressure = try Backpressure()
        let queue = try makeQueue(pipe.takeWriter(), backpressure, failures: Mailbox())
        queue.sendReply(giant)
        let first = await pipe.read(atMost: 1)
        #expect(first == [0x67])
        queue.sendReply(Array("b".utf8))
        queue.beginClosing()
        queue.sendReply(Array("c".utf8))
        queue.sendEvent(Array("d".utf8), sequence: 1)
        async let rest = pipe.read(atMost: giant.count + 2)
        #expect(await close(queue))
        #expect(lines(await rest) == ["giant", "b"])
        #expect(backpressure.count == 0)
    }
}
