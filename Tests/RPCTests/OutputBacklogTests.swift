import Testing

@testable import RPC

@Suite struct OutputBacklogTests {
    /// All queued messages as texts, batch by batch.
    private func drain(_ backlog: inout OutputBacklog) -> [[String]] {
        var batches: [[String]] = []
        while let batch = backlog.takeBatch() {
            batches.append(
                batch.pieces.map { piece in
                    switch piece {
                    case .message(let bytes): String(decoding: bytes, as: UTF8.self)
                    case .eventsLost(let range): "lost \(range.lowerBound)-\(range.upperBound)"
                    }
                }
            )
        }
        return batches
    }

    private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    @Test func `all kinds go out in the order in which they came`() {
        var backlog = OutputBacklog()
        backlog.addReply(bytes("r1"))
        backlog.addEvent(bytes("e1"), sequence: 1)
        backlog.setProgress(bytes("p1"), id: "a")
        backlog.addReply(bytes("r2"))
        #expect(drain(&backlog) == [["r1", "e1", "p1", "r2"]])
        #expect(drain(&backlog) == [])
    }

    @Test func `newer progress replaces the waiting one and overtakes nothing`() {
        var backlog = OutputBacklog()
        backlog.setProgress(bytes("a1"), id: "a")
        backlog.setProgress(bytes("b1"), id: "b")
        backlog.addReply(bytes("r"))
        backlog.setProgress(bytes("a2"), id: "a")
        backlog.setProgress(bytes("a3"), id: "a")
        #expect(drain(&backlog) == [["b1", "r", "a3"]])
        backlog.setProgress(bytes("a4"), id: "a")
        #expect(drain(&backlog) == [["a4"]])
    }

    @Test func `discarded progress is gone and a later one stands behind the final event`() {
        var backlog = OutputBacklog()
        backlog.discardProgress(id: "a")
        backlog.setProgress(bytes("a1"), id: "a")
        backlog.discardProgress(id: "a")
        backlog.addEvent(bytes("final"), sequence: 1)
        backlog.setProgress(bytes("a2"), id: "a")
        #expect(drain(&backlog) == [["final", "a2"]])
        backlog.setProgress(bytes("a3"), id: "a")
        backlog.discardProgress(id: "a")
        #expect(drain(&backlog) == [])
    }

    @Test func `discarding over and over keeps no entries and no order is lost`() {
        var backlog = OutputBacklog()
        backlog.addReply(bytes("first"))
        backlog.setProgress(bytes("b"), id: "b")
        for _ in 0..<10_000 {
            backlog.setProgress(bytes("a"), id: "a")
            backlog.discardProgress(id: "a")
        }
        backlog.addReply(bytes("last"))
        #expect(
            Mirror(reflecting: backlog).descendant("entries").map { Mirror(reflecting: $0).children.count < 2100 }
                == true)
        #expect(drain(&backlog) == [["first", "b", "last"]])
    }

    @Test func `events past the limit are dropped and told once in their place`() {
        var backlog = OutputBacklog(maximumEventByteCount: 10)
        backlog.addEvent(bytes("12345"), sequence: 1)
        backlog.addReply(bytes("r1"))
        backlog.addEvent(bytes("67890"), sequence: 2)
        backlog.addEvent(bytes("x"), sequence: 3)
        backlog.addReply(bytes("r2"))
        backlog.addEvent(bytes("y"), sequence: 4)
        backlog.addEvent(bytes("z"), sequence: 9)
        backlog.setProgress(bytes("p"), id: "a")
        #expect(drain(&backlog) == [["12345", "r1", "67890", "lost 3-9", "r2", "p"]])
        backlog.addEvent(bytes("next"), sequence: 10)
        #expect(drain(&backlog) == [["next"]])
    }

    @Test func `room alone does not end a gap before it is told`() {
        let big = String(repeating: "e", count: 60_000)
        var backlog = OutputBacklog(maximumEventByteCount: 120_000)
        for sequence in 1...3 { backlog.addEvent(bytes(big), sequence: Int64(sequence)) }
        #expect(backlog.takeBatch()?.byteCount == 60_000)
        backlog.addEvent(bytes("small"), sequence: 4)
        #expect(drain(&backlog) == [[big, "lost 3-4"]])
        backlog.addEvent(bytes("small"), sequence: 5)
        #expect(drain(&backlog) == [["small"]])
    }

    @Test func `answers are never dropped and counted exactly`() {
        var backlog = OutputBacklog(maximumEventByteCount: 0)
        for index in 0..<20_000 { backlog.addReply(bytes("\(index)")) }
        #expect(backlog.replyCount == 20_000)
        var batchTotals = (count: 0, byteCount: 0)
        let total = backlog.replyByteCount
        var next = 0
        while let batch = backlog.takeBatch() {
            batchTotals.count += batch.replyCount
            batchTotals.byteCount += batch.replyByteCount
            for piece in batch.pieces {
                #expect(piece == .message(bytes("\(next)")))
                next += 1
            }
        }
        #expect(batchTotals == (20_000, total))
        #expect(backlog.replyCount == 0 && backlog.replyByteCount == 0)
    }

    @Test func `a batch gathers 64 KiB and a giant goes alone`() {
        var backlog = OutputBacklog()
        let piece = [UInt8](repeating: 0x61, count: 20_000)
        let giant = [UInt8](repeating: 0x62, count: 200_000)
        for message in [piece, piece, piece, piece, giant, piece] { backlog.addReply(message) }
        var sizes: [Int] = []
        while let batch = backlog.takeBatch() { sizes.append(batch.byteCount) }
        #expect(sizes == [60_000, 20_000, 200_000, 20_000])
    }
}
