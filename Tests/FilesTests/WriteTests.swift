import Core
import Files
import Foundation
import Glibc
import Platform
import Synchronization
import Testing

/// Records the marks, and the file's content at each.
private final class RecordingSink: MarkSink {
    struct Entry: Equatable {
        var bytes: [UInt8]
        var slot: Int
        var fileContents: String
    }
    private let path: String
    private let error: Errno?
    private let entries = Mutex<[Entry]>([])

    init(watching path: String, failingWith error: Errno? = nil) {
        self.path = path
        self.error = error
    }

    var all: [Entry] { entries.withLock { $0 } }

    func write(_ bytes: [UInt8], slot: Int) throws(Errno) {
        let contents = try readFile(path, limitByteCount: 4096)
        entries.withLock {
            $0.append(Entry(bytes: bytes, slot: slot, fileContents: String(decoding: contents, as: UTF8.self)))
        }
        if let error { throw error }
    }

    func clear(slot: Int) {
        entries.withLock { $0.append(Entry(bytes: [], slot: slot, fileContents: "")) }
    }
}

@Suite struct WriteTests {
    @Test func `bytes land at their offsets and every buffer comes back`() throws {
        try withWorkshop { shop in
            let file = try shop.create()
            let buffers = ["world", "hello "].map { buffer($0) }
            let tickets = [
                shop.submit(.write(file, buffers[0], offset: 6, mark: nil)),
                shop.submit(.write(file, buffers[1], offset: 0, mark: nil)),
            ]
            for (ticket, buffer) in zip(tickets, buffers) {
                let result = try shop.result(ticket)
                #expect(result.outcome.isWritten)
                #expect(result.buffer === buffer)
            }
            #expect(try shop.contents("f.towline") == "hello world")
        }
    }

    @Test func `a mark is written only when its data can be read`() throws {
        try withWorkshop { shop in
            let file = try shop.create()
            let sink = RecordingSink(watching: file.path)
            let tickets = ["ab", "cd", "ef"].enumerated().map { index, text in
                let mark = Mark(sink: sink, bytes: [UInt8(index)], slot: 7)
                return shop.submit(.write(file, buffer(text), offset: Int64(index * 2), mark: mark))
            }
            for ticket in tickets { #expect(try shop.result(ticket).outcome.isWritten) }
            #expect(
                sink.all == [
                    .init(bytes: [0], slot: 7, fileContents: "ab"),
                    .init(bytes: [1], slot: 7, fileContents: "abcd"),
                    .init(bytes: [2], slot: 7, fileContents: "abcdef"),
                ]
            )
        }
    }

    @Test func `a failed mark is told but does not fail the data`() throws {
        try withWorkshop { shop in
            let file = try shop.create()
            let mark = Mark(sink: RecordingSink(watching: file.path, failingWith: .noSpace), bytes: [1], slot: 0)
            let outcome = try shop.run(.write(file, buffer("data"), offset: 0, mark: mark))
            guard case .written(let error) = outcome else { throw Unexpected(outcome: outcome) }
            #expect(error == .noSpace)
            #expect(file.poison == nil)
            #expect(try shop.contents("f.towline") == "data")
        }
    }

    @Test func `after a failed write all that follows fails with the first error and no mark is written`() throws {
        try withWorkshop { shop in
            try shop.put("old", at: "f.towline")
            let readOnly = try FileDescriptor(open: shop.path("f.towline"), flags: O_RDONLY)
            let file = try OpenFile(readOnly, path: shop.path("f.towline"))
            let sink = RecordingSink(watching: file.path)
            let mark = Mark(sink: sink, bytes: [1], slot: 0)
            let given = buffer("new")
            let failing = try shop.result(shop.submit(.write(file, given, offset: 0, mark: mark)))
            #expect(failing.buffer === given)
            let first = try failing.outcome.error()
            #expect(first == FileError(.write, file.path, .system(.badDescriptor)))

            let later: [FileJob] = [
                .write(file, buffer("more"), offset: 3, mark: mark), .checkpoint(file), .syncForFinish(file),
                .truncate(file, to: 0),
                .publish(
                    Publication(
                        file: file,
                        partialPath: file.path,
                        finalPath: shop.path("f"),
                        mode: .replace,
                        fileMode: 0o644
                    )
                ),
            ]
            for job in later { #expect(try shop.run(job).error() == first) }
            #expect(sink.all.isEmpty)
            #expect(try shop.contents("f.towline") == "old")

            // Claims of earlier marks can still be withdrawn, and opening the file again clears the poison.
            guard case .marked = try shop.run(.mark(file, mark)) else { throw CancellationError() }
            #expect(sink.all.count == 1)
            let again = try shop.run(.openPartial(path: file.path, expected: file.identity)).opened().file
            #expect(try shop.run(.write(again, buffer("new"), offset: 0, mark: nil)).isWritten)
        }
    }

    @Test func `a failed flush poisons the file`() throws {
        try withWorkshop { shop in
            // A FIFO can be written but not flushed.
            #expect(mkfifo(shop.path("fifo"), 0o600) == 0)
            let file = try OpenFile(
                try FileDescriptor(open: shop.path("fifo"), flags: O_RDWR | O_NONBLOCK),
                path: shop.path("fifo")
            )
            let error = try shop.run(.checkpoint(file)).error()
            #expect(error.operation == .synchronize)
            #expect(file.poison == error)
            #expect(try shop.run(.write(file, buffer("x"), offset: 0, mark: nil)).error() == error)
        }
    }

    @Test func `a failed flush takes the mark back before anybody is told`() throws {
        try withWorkshop { shop in
            // A character device can be written but not flushed.
            let device = try FileDescriptor(open: "/dev/null", flags: O_RDWR)
            let file = try OpenFile(device, path: "/dev/null")
            let sink = RecordingSink(watching: "/dev/null")
            let mark = Mark(sink: sink, bytes: [1], slot: 3)
            #expect(try shop.run(.write(file, buffer("x"), offset: 0, mark: mark)).isWritten)
            _ = try shop.run(.checkpoint(file)).error()
            #expect(sink.all.map(\.bytes) == [[1], []])
            #expect(sink.all.map(\.slot) == [3, 3])
            _ = try shop.run(.write(file, buffer("y"), offset: 1, mark: mark)).error()
            #expect(sink.all.count == 2)
        }
    }

    @Test func `checkpoint, truncate, read and close answer`() throws {
        try withWorkshop { shop in
            let file = try shop.create("f.towline", "0123456789")
            #expect(try shop.run(.checkpoint(file)).isSynchronized)
            guard case .truncated = try shop.run(.truncate(file, to: 6)) else { throw CancellationError() }
            let range = try #require(ByteRange(2, 100))
            guard case .read(let bytes) = try shop.run(.read(file, range)) else { throw CancellationError() }
            #expect(String(decoding: bytes, as: UTF8.self) == "2345")
            #expect(try shop.run(.close(file)).isClosed)
            for job in [FileJob.close(file), .checkpoint(file), .write(file, buffer("x"), offset: 0, mark: nil)] {
                #expect(try shop.run(job).error().errno == .badDescriptor)
            }
        }
    }

    @Test func `a read beyond the limit is refused`() throws {
        try withWorkshop { shop in
            let file = try shop.create("f.towline", "0123456789")
            let range = try #require(ByteRange(0, FileWorkers.readLimitByteCount + 1))
            #expect(try shop.run(.read(file, range)).error().errno == .invalidArgument)
        }
    }

    @Test func `work queued before stop is done, work after it is refused with its buffer`() throws {
        try withWorkshop { shop in
            let file = try shop.create()
            let tickets = (0..<100).map { shop.submit(.write(file, buffer("x"), offset: $0, mark: nil)) }
            shop.workers.stop()
            for ticket in tickets { #expect(try shop.result(ticket).outcome.isWritten) }
            #expect(try shop.contents("f.towline").utf8.count == 100)
            let late = buffer("late")
            let result = try shop.result(shop.submit(.write(file, late, offset: 0, mark: nil)))
            #expect(try result.outcome.error().reason == .stopped)
            #expect(result.buffer === late)
        }
    }
}
