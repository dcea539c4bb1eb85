import Platform
import Testing

@testable import RPC

@Suite(.timeLimit(.minutes(1))) struct BackpressureTests {
    @Test func `the reader goes on within the limits`() async throws {
        let gate = try Backpressure(maximumByteCount: 100, maximumCount: 10)
        for _ in 0..<10 { gate.add(byteCount: 10) }
        await onThread { gate.waitForRoom() }
        #expect(gate.byteCount == 100 && gate.count == 10)
    }

    @Test(arguments: [(101, 1), (1, 11)])
    func `past a limit the reader waits until half is gone`(byteCount: Int, count: Int) async throws {
        let gate = try Backpressure(maximumByteCount: 100, maximumCount: 10)
        gate.add(byteCount: byteCount, count: count)
        async let reader: Void = onThread { gate.waitForRoom() }
        while !gate.isReaderWaiting { await Task.yield() }
        // Down to one above half of the limit.
        gate.subtract(byteCount: max(byteCount - 51, 0), count: max(count - 6, 0))
        #expect(gate.isReaderWaiting)
        gate.subtract(byteCount: 1, count: 1)
        #expect(!gate.isReaderWaiting)
        await reader
    }
}
