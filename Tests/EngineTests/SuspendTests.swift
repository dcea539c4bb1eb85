import Core
import Engine
import Platform
import Store
import TestSupport
import Testing

/// Pauses, exits and kills in every phase, and how the next process continues.
@Suite(.timeLimit(.minutes(1)))
struct SuspendTests {
    let directory: TemporaryDirectory
    var state: String { directory.path("state") }
    var path: String { directory.path("file.bin") }
    let bytes = randomBytes(3_000_000)

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// Moments of a download, as reported by events.
    enum Moment: String, CaseIterable, Sendable {
        case queued, connecting, beforeBody, downloading, bodyEnded, verifying, finalizing, waiting
    }
    enum Stop: String, CaseIterable, Sendable { case suspend, die, pause, cancel }

    @Test(arguments: Moment.allCases, Stop.allCases)
    func `stopped`(at moment: Moment, by stop: Stop) async throws {
        let bytes = bytes
        let signal = try Signal()
        let server = try ScriptedServer { request in
            if request.index > 0 { return .file(bytes, etag: "\"v\"") }
            return switch moment {
            case .connecting: .file(bytes, etag: "\"v\"") { $0.beforeHead = signal }
            case .beforeBody: .file(bytes, etag: "\"v\"") { $0.beforeBody = signal }
            case .downloading: .file(bytes, etag: "\"v\"") { $0.middle = (2_000_000, signal) }
            case .waiting: .status(503, fields: [("Retry-After", "1000")])
            case .queued, .bodyEnded, .verifying, .finalizing: .file(bytes, etag: "\"v\"")
            }
        }
        let first = try EngineHost(state: state, settings: settings(maxActive: moment == .queued ? 0 : 8))
        let checksum = try digest(bytes, .md5, in: directory)
        let options = quick { $0.checksum = checksum }
        let id = try await first.start(server.url("/f"), path: path, options: options).download.id
        switch moment {
        case .queued: break
        case .connecting: await server.waitForRequests(1)
        case .beforeBody: _ = await first.event { $0.phase == .downloading }
        case .downloading: _ = try await first.poll(id) { $0.receivedByteCount == 2_000_000 }
        case .bodyEnded: await server.waitForFinishedAnswers(1)
        case .verifying: _ = await first.event { $0.phase == .verifying }
        case .finalizing: _ = await first.event { $0.phase == .finalizing }
        case .waiting: _ = await first.event { $0.state == .waiting }
        }
        var isOver = false
        switch stop {
        case .suspend: await first.suspendAndStop()
        case .die: first.stop()
        case .pause, .cancel:
            let command = stop == .pause ? DownloadCommand.pause : .cancel
            do {
                let answer = try await first.perform(command, id)
                #expect(answer.isChanged)
                isOver = command == .cancel
            } catch let error as EngineError {
                // The download was faster.
                guard case .invalidState(_, .completed, command) = error else { throw error }
            }
            await first.suspendAndStop()
        }
        signal.set()
        let second = try EngineHost(state: state)
        let before = try await second.get(id)
        if isOver {
            #expect(before.state == .canceled)
            second.stop()
            #expect(try directory.entries() == ["state"])
            return
        }
        if before.state != .completed {
            #expect(before.state == .paused)
            #expect(before.owner == Ownership.none)
            #expect(before.reason == (stop == .pause ? .user : .interrupted))
            if moment == .downloading { #expect(before.receivedByteCount >= 2_000_000 - (1 << 20)) }
            if moment == .downloading, stop != .die { #expect(before.receivedByteCount == 2_000_000) }
            try await second.perform(.resume, id)
            #expect(await second.end(id).state == .completed)
        }
        #expect(contents(path) == bytes)
        #expect(try directory.entries() == ["file.bin", "state"])
        second.stop()
    }

    @Test func `a pause while the partial is being opened leaves nothing running`() async throws {
        let bytes = bytes
        let signal = try Signal()
        defer { signal.set() }
        let server = try ScriptedServer { _ in .file(bytes, etag: "\"v\"") { $0.middle = (10_000, signal) } }
        let host = try EngineHost(state: state)
        defer { host.stop() }
        let id = try await host.start(server.url("/f"), path: path, id: "f").download.id
        _ = try await host.poll(id) { $0.receivedByteCount == 10_000 }
        try await host.perform(.pause, id)
        for round in 0..<15 {
            let done = try Signal()
            // One turn apart: the resume has its slot and opens the partial, and the pause is performed before that is
            // done.
            host.inTurns([
                { engine in engine.perform(.resume, on: .one("f"), deletesPartial: true) { _ in } },
                { engine in engine.perform(.pause, on: .one("f"), deletesPartial: true) { _ in done.set() } },
            ])
            await done.wait()
            let paused = try await host.get(id)
            #expect(paused.state == .paused, "round \(round)")
            #expect(paused.connections == 0, "round \(round)")
        }
        signal.set()
        try await host.perform(.resume, id)
        #expect(await host.end(id).state == .completed)
        #expect(contents(path) == bytes)
        #expect(try directory.entries() == ["file.bin", "state"])
    }

    @Test func `pauses and resumes at random moments lose nothing`() async throws {
        let bytes = bytes
        let server = try ScriptedServer { _ in
            .file(bytes, etag: "\"v\"") {
                $0.pieceByteCount = 100_000
                $0.pieceDelayMilliseconds = 1
            }
        }
        let host = try EngineHost(state: state)
        defer { host.stop() }
        let id = try await host.start(server.url("/f"), path: path).download.id
        var random = RandomBytes(seed: 7)
        for _ in 0..<15 {
            do {
                try await host.perform(.pause, id)
                let paused = try await host.get(id)
                #expect(paused.connections == 0)
                #expect(paused.receivedByteCount == paused.contiguousByteCount)
                try await host.perform(.resume, id)
            } catch EngineError.invalidState {
                break
            }
            try await Task.sleep(for: .microseconds(Int(random.next() % 5_000)))
        }
        let end = await host.end(id)
        #expect(end.state == .completed)
        #expect(end.attempt == 1)
        #expect(contents(path) == bytes)
    }

    @Test func `a suspended engine starts nothing and refuses what changes`() async throws {
        let bytes = bytes
        let signal = try Signal()
        defer { signal.set() }
        let server = try ScriptedServer { _ in .file(bytes, etag: "\"v\"") { $0.middle = (1_000_000, signal) } }
        let host = try EngineHost(state: state, settings: settings(maxActive: 1))
        defer { host.stop() }
        let id = try await host.start(server.url("/f"), path: path).download.id
        _ = try await host.start(server.url("/g"), path: path + "2")
        _ = try await host.poll(id) { $0.receivedByteCount == 1_000_000 }
        await host.suspend()
        #expect(try await host.get(id).receivedByteCount == 1_000_000)
        #expect(try await host.get(id).connections == 0)
        await #expect(throws: EngineError.shuttingDown) { try await host.perform(.pause, id) }
        await #expect(throws: EngineError.shuttingDown) { try await host.start(server.url("/h"), path: path + "3") }
        await #expect(throws: EngineError.shuttingDown) { try await host.resumeInterrupted() }
        await #expect(throws: EngineError.shuttingDown) { try await host.remove(id) }
        await host.suspend()
        #expect(server.requests.count == 1)
    }

    @Test func `a file that was renamed before a crash is recognised`() async throws {
        let bytes = bytes
        let server = try ScriptedServer { _ in .file(bytes, etag: "\"v\"") }
        let first = try EngineHost(state: state)
        let id = try await first.start(server.url("/f"), path: path).download.id
        #expect(await first.end(id).state == .completed)
        await first.suspendAndStop()
        // The state that a crash between the rename and its record leaves.
        try await rewrite(id) { record in
            record.state = .active
            record.isFinalizing = true
            record.completedAtMilliseconds = nil
        }
        let second = try EngineHost(state: state)
        defer { second.stop() }
        #expect(try await second.get(id).state == .paused)
        #expect(try await second.resumeInterrupted() == 1)
        let end = await second.end(id)
        #expect(end.state == .completed)
        #expect(server.requests.count == 1)
        #expect(contents(path) == bytes)
    }

    /// Changes a record without the engine: deletes it and inserts it again with the changed content.
    private func rewrite(_ id: String, _ body: (inout DownloadRecord) -> Void) async throws {
        let store = try Store(StoreConfiguration(location: .directory(state)))
        defer { store.close() }
        func perform(_ operation: StoreOperation) throws -> StoreOutcome {
            store.submit(operation, ticket: 1)
            return try #require(store.results.waitAndTakeAll()?.first).outcome
        }
        guard case .loaded(let loaded) = try perform(.get(id: id)) else { throw UnexpectedAnswer() }
        guard case .deleted = try perform(.delete(id: id)) else { throw UnexpectedAnswer() }
        var record = loaded.record
        body(&record)
        let outcome = try perform(.start(StartCandidate(record: record, isIDGiven: true)))
        guard case .started(.created) = outcome else { throw UnexpectedAnswer() }
    }
}
