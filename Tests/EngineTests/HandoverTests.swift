import Core
import Engine
import Platform
import TestSupport
import Testing

/// A process whose host has exited hands downloads over to a process that asks for them.
@Suite(.timeLimit(.minutes(1)))
struct HandoverTests {
    let directory: TemporaryDirectory
    var state: String { directory.path("state") }
    var path: String { directory.path("file.bin") }
    let bytes = randomBytes(3_000_000)

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func server(_ signal: Signal) throws -> ScriptedServer {
        let bytes = bytes
        return try ScriptedServer { request in
            .file(bytes, etag: "\"v1\"") { if request.index == 0 { $0.middle = (1_000_000, signal) } }
        }
    }

    @Test func `a yielding owner lets a pause of another process through, and keeps the bytes`() async throws {
        let signal = try Signal()
        let server = try server(signal)
        let first = try EngineHost(state: state)
        defer { first.stop() }
        let id = try await first.start(server.url("/f"), path: path).download.id
        _ = try await first.poll(id) { $0.receivedByteCount >= 1_000_000 }
        first.beginYielding()
        // This read comes after it, so it is stored now.
        _ = try await first.list()
        let second = try EngineHost(state: state)
        defer { second.stop() }
        _ = try await second.poll(id) { $0.owner == .other }
        let answer = try await second.perform(.pause, id)
        #expect(answer.download.state == .paused)
        #expect(answer.download.receivedByteCount == 1_000_000)
        signal.set()
        try await second.perform(.resume, id)
        let end = await second.end(id)
        #expect(end.state == .completed)
        #expect(end.transfer == TransferOrigin(mode: .resumed, offset: 1_000_000, identity: .validated))
        #expect(contents(path) == bytes)
        let told = await first.event { $0.id == id && $0.state == .paused }
        #expect(told.owner == Ownership.none)
    }

    @Test func `a start takes over from a yielding owner`() async throws {
        let signal = try Signal()
        let server = try server(signal)
        let first = try EngineHost(state: state)
        defer { first.stop() }
        let id = try await first.start(server.url("/f"), path: path).download.id
        _ = try await first.poll(id) { $0.receivedByteCount >= 1_000_000 }
        let second = try EngineHost(state: state)
        defer { second.stop() }
        // Not yielding yet: the same start finds it, everything else is refused at once.
        let found = try await second.start(server.url("/f"), path: path)
        #expect(found.download.id == id)
        #expect(found.download.owner == .other)
        #expect(!found.isCreated)
        await #expect(
            throws: EngineError.lockedElsewhere(id: id, owner: OwnerProcess(id: currentProcessID(), yields: false))
        ) { try await second.perform(.cancel, id) }
        first.beginYielding()
        // This read comes after it, so it is stored now.
        _ = try await first.list()
        let answer = try await second.start(server.url("/f"), path: path)
        #expect(answer.download.id == id)
        #expect(answer.isResumed)
        signal.set()
        let end = await second.end(id)
        #expect(end.state == .completed)
        #expect(contents(path) == bytes)
    }
}
