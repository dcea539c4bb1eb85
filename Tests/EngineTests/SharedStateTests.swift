import Core
import Engine
import Platform
import Store
import TestSupport
import Testing

/// Several processes on one state directory.
@Suite(.timeLimit(.minutes(1)))
struct SharedStateTests {
    let directory: TemporaryDirectory
    var state: String { directory.path("state") }
    let bytes = randomBytes(1_000_000)

    init() throws {
        directory = try TemporaryDirectory()
    }

    @Test func `what a living process owns is shown with its progress and left alone`() async throws {
        let bytes = bytes
        let signal = try Signal()
        defer { signal.set() }
        let server = try ScriptedServer { request in
            .file(bytes, etag: "\"v\"") { if request.path == "/a" { $0.middle = (600_000, signal) } }
        }
        let first = try EngineHost(state: state)
        let second = try EngineHost(state: state)
        let path = directory.path("a")
        let id = try await first.start(server.url("/a"), path: path, id: "a").download.id
        _ = try await first.poll(id) { $0.receivedByteCount == 600_000 }
        // Gathered bytes are written after a second, with their mark.
        let seen = try await second.poll(id) { $0.receivedByteCount == 600_000 }
        #expect(seen.owner == .other)
        #expect(seen.state == .active)
        #expect(try await second.list().entries.map(\.download.owner) == [.other])
        for command in [DownloadCommand.pause, .cancel] {
            await #expect(
                throws: EngineError.lockedElsewhere(id: id, owner: OwnerProcess(id: currentProcessID(), yields: false))
            ) { try await second.perform(command, id) }
        }
        for givenID in ["a", nil] {
            let found = try await second.start(server.url("/a"), path: path, id: givenID)
            #expect(found.download.id == id)
            #expect(found.download.owner == .other)
            #expect(!found.isCreated && !found.isResumed)
        }
        await #expect(throws: EngineError.destinationHeld(path: path, id: id)) {
            try await second.start(server.url("/other"), path: path)
        }
        #expect(try await second.perform(.resume, onAll: true) == (0, 0))
        #expect(try await second.resumeInterrupted() == 0)

        let other = try await second.start(server.url("/b"), path: directory.path("b")).download.id
        #expect(await second.end(other).state == .completed)
        #expect(contents(directory.path("b")) == bytes)

        // The first process exits; the second takes over.
        await first.suspendAndStop()
        signal.set()
        #expect(try await second.resumeInterrupted() == 1)
        let end = await second.end(id)
        #expect(end.transfer == TransferOrigin(mode: .resumed, offset: 600_000, identity: .validated))
        #expect(contents(path) == bytes)
        second.stop()
    }

    @Test func `eight processes at once each do their own`() async throws {
        let bytes = bytes
        let server = try ScriptedServer { _ in .file(bytes, etag: "\"v\"") }
        let state = state
        let directory = directory
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask {
                    let host = try EngineHost(state: state)
                    var ids: [String] = []
                    for index in 0..<5 {
                        let name = "\(number)-\(index)"
                        let path = directory.path(name)
                        ids.append(try await host.start(server.url("/\(name)"), path: path, id: name).download.id)
                    }
                    for id in ids {
                        #expect(await host.end(id).state == .completed)
                        #expect(contents(directory.path(id)) == bytes)
                    }
                    await host.suspendAndStop()
                }
            }
            try await group.waitForAll()
        }
        let host = try EngineHost(state: state)
        defer { host.stop() }
        let entries = try await host.list(ListRequest(limit: 100)).entries
        #expect(entries.count == 40)
        #expect(entries.allSatisfy { $0.download.state == .completed })
    }

    @Test func `of two that take one interrupted download over, one gets it`() async throws {
        let bytes = bytes
        let signal = try Signal()
        let server = try ScriptedServer { request in
            .file(bytes, etag: "\"v\"") { if request.index == 0 { $0.middle = (600_000, signal) } }
        }
        let first = try EngineHost(state: state)
        let path = directory.path("a")
        let id = try await first.start(server.url("/a"), path: path, id: "a").download.id
        _ = try await first.poll(id) { $0.receivedByteCount == 600_000 }
        first.stop()
        signal.set()
        let hosts = [try EngineHost(state: state), try EngineHost(state: state)]
        async let one = hosts[0].resumeInterrupted()
        async let two = hosts[1].resumeInterrupted()
        let counts = try await [one, two]
        #expect(counts.sorted() == [0, 1])
        let winner = hosts[counts[0] == 1 ? 0 : 1]
        #expect(await winner.end(id).state == .completed)
        #expect(contents(path) == bytes)
        #expect(server.requests.count == 2)
        for host in hosts { host.stop() }
    }
}
