import Core
import Engine
import Platform
import TestSupport
import Testing

/// After a kill, all bytes that the records claim are in the files.
@Suite(.timeLimit(.minutes(2)))
struct MarkTests {
    let directory: TemporaryDirectory
    var state: String { directory.path("state") }

    init() throws {
        directory = try TemporaryDirectory()
    }

    @Test(arguments: [1, 2]) func `every range claimed after a death is in the file`(seed: UInt64) async throws {
        let count = 6
        let truths = (0..<count).map { randomBytes(4_000_000 + $0 * 70_001, seed: seed * 100 + UInt64($0)) }
        let isLast = Guarded(false)
        let server = try ScriptedServer { request in
            let number = Int(request.path.dropFirst()) ?? 0
            // A third of the files change at each request, a third never change, and a third have no ranges.
            let etag = number % 3 == 0 ? "\"v\(request.occurrence)\"" : "\"v\""
            var bytes = truths[number]
            if number % 3 == 0 { bytes[0] = UInt8(truncatingIfNeeded: request.occurrence) }
            let served = bytes
            return .file(served, etag: etag) {
                $0.ignoresRanges = number % 3 == 2
                $0.pieceByteCount = 50_000 + number * 1_000
                if isLast.withLock({ $0 }) { return }
                // No download completes before the last round.
                if request.occurrence % 4 == 3 { $0.dropAfterByteCount = 200_000 + number * 10_000 }
                $0.stallAfterByteCount = 300_000 + number * 30_000
            }
        }
        var random = RandomBytes(seed: seed)
        var claimed: Int64 = 0
        for round in 0..<4 {
            let host = try EngineHost(state: state)
            if round == 0 {
                for number in 0..<count {
                    _ = try await host.start(
                        server.url("/\(number)"), path: directory.path("\(number)"), id: "d\(number)",
                        options: quick(maxAttempts: 100))
                }
            } else {
                _ = try await host.resumeInterrupted()
            }
            let goal = 1 + Int(random.next() % UInt64(count))
            while try await begunCount(host, count) < goal { try await Task.sleep(for: .milliseconds(1)) }
            if round % 3 == 2 { await host.suspendAndStop() } else { host.stop() }

            let reader = try EngineHost(state: state)
            for number in 0..<count {
                let inspection = try await reader.inspect("d\(number)")
                guard inspection.download.state == .paused else { continue }
                let ranges = inspection.writtenRanges.union(inspection.durableRanges)
                claimed += ranges.byteCount
                guard !ranges.isEmpty else { continue }
                let path = try #require(inspection.download.partialPath)
                let held = try #require(contents(path), "\(path) is claimed and missing")
                for range in ranges.ranges {
                    let part = Int(range.lowerBound)..<Int(range.upperBound)
                    try #require(part.upperBound <= held.count)
                    // The first byte depends on the version.
                    let isRight = held[part].dropFirst() == truths[number][part].dropFirst()
                    #expect(isRight, "d\(number) \(range) after round \(round)")
                    if number % 3 == 0, part.lowerBound == 0 {
                        #expect("\"v\(held[0])\"" == inspection.etag, "d\(number) is of another version")
                    }
                }
            }
            reader.stop()
        }
        #expect(claimed > 0)
        isLast.withLock { $0 = true }
        let host = try EngineHost(state: state)
        defer { host.stop() }
        _ = try await host.resumeInterrupted()
        for number in 0..<count {
            let end = try await host.get("d\(number)")
            if end.state != .completed { #expect(await host.end("d\(number)").state == .completed) }
            #expect(contents(directory.path("\(number)"))?.dropFirst() == truths[number].dropFirst())
        }
    }

    /// Number of downloads that received enough bytes for a mark in this process.
    private func begunCount(_ host: EngineHost, _ count: Int) async throws -> Int {
        var begunCount = 0
        for number in 0..<count {
            let download = try await host.get("d\(number)")
            if download.phase == .downloading, download.contiguousByteCount >= 131_072 { begunCount += 1 }
        }
        return begunCount
    }

    @Test func `a version that replaces another is a new attempt, exactly one`() async throws {
        let old = randomBytes(2_000_000)
        let new = randomBytes(2_000_000, seed: 9)
        let server = try ScriptedServer { request in
            switch request.index {
            case 0: .file(old, etag: "\"a\"") { $0.dropAfterByteCount = 500_000 }
            case 1: .file(old, etag: "\"a\"") { $0.dropAfterByteCount = 500_000 }
            case 2: .file(new, etag: "\"b\"") { $0.dropAfterByteCount = 300_000 }
            default: .file(new, etag: "\"b\"")
            }
        }
        let host = try EngineHost(state: state)
        defer { host.stop() }
        let path = directory.path("f")
        let id = try await host.start(server.url("/f"), path: path, options: quick()).download.id
        let end = await host.end(id)
        #expect(end.state == .completed)
        #expect(end.attempt == 2)
        #expect(contents(path) == new)
        let changes = zip(host.events, host.events.dropFirst()).filter { $0.attempt != $1.attempt }
        #expect(changes.count == 1)
        #expect(changes.first?.1.transfer?.why == .validatorChanged)
    }
}
