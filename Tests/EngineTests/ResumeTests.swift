import Core
import Engine
import Foundation
import Platform
import TestSupport
import Testing

/// Interruptions of all kinds, and how downloads continue after them.
@Suite(.timeLimit(.minutes(1)))
struct ResumeTests {
    let directory: TemporaryDirectory
    var state: String { directory.path("state") }
    var path: String { directory.path("file.bin") }
    let bytes = randomBytes(4_000_000)

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// A server whose first response stops in the middle until the signal; later ones are complete.
    private func haltingServer(at byteCount: Int, _ signal: Signal) throws -> ScriptedServer {
        let bytes = bytes
        return try ScriptedServer { request in
            .file(bytes, etag: "\"v1\"") { if request.index == 0 { $0.middle = (byteCount, signal) } }
        }
    }

    private func received(_ host: EngineHost, _ id: String, atLeast byteCount: Int64) async throws {
        _ = try await host.poll(id) { $0.receivedByteCount >= byteCount }
    }

    @Test func `pause keeps what came and resume asks for the rest alone`() async throws {
        let signal = try Signal()
        let server = try haltingServer(at: 1_500_000, signal)
        let host = try EngineHost(state: state)
        defer { host.stop() }
        let id = try await host.start(server.url("/file.bin"), path: path).download.id
        try await received(host, id, atLeast: 1_500_000)
        let paused = try await host.perform(.pause, id)
        #expect(paused.isChanged)
        #expect(paused.download.state == .paused)
        #expect(paused.download.reason == .user)
        #expect(paused.download.receivedByteCount == 1_500_000)
        #expect(contents(path) == nil)
        signal.set()
        let again = try await host.perform(.pause, id)
        #expect(!again.isChanged)
        let resumed = try await host.perform(.resume, id)
        #expect(resumed.isChanged)
        #expect(resumed.download.state == .queued)
        let end = await host.end(id)
        #expect(end.state == .completed)
        #expect(end.transfer == TransferOrigin(mode: .resumed, offset: 1_500_000, identity: .validated))
        #expect(contents(path) == bytes)
        let second = try #require(server.requests.last)
        #expect(second.value("Range") == "bytes=1483616-3999999")
        #expect(second.value("If-Range") == "\"v1\"")
    }

    @Test func `an engine that dies without a word leaves at most what was on its way`() async throws {
        let signal = try Signal()
        let server = try haltingServer(at: 3_000_000, signal)
        let first = try EngineHost(state: state)
        let id = try await first.start(server.url("/file.bin"), path: path).download.id
        try await received(first, id, atLeast: 3_000_000)
        first.stop()
        signal.set()

        let second = try EngineHost(state: state)
        defer { second.stop() }
        // Known at launch, before any request.
        let before = try await second.get(id)
        #expect(before.state == .paused)
        #expect(before.reason == .interrupted)
        #expect(before.owner == Ownership.none)
        #expect(before.receivedByteCount >= 3_000_000 - (1 << 20))
        #expect(server.requests.count == 1)

        let again = try await second.start(server.url("/file.bin"), path: path)
        #expect(!again.isCreated)
        #expect(again.isResumed)
        #expect(again.download.id == id)
        let end = await second.end(id)
        #expect(end.state == .completed)
        #expect(end.transfer?.mode == .resumed)
        #expect(contents(path) == bytes)
        #expect(try directory.entries() == ["file.bin", "state"])
    }

    @Test func `an orderly exit loses nothing that had come`() async throws {
        let signal = try Signal()
        let server = try haltingServer(at: 3_000_000, signal)
        let first = try EngineHost(state: state)
        let id = try await first.start(server.url("/file.bin"), path: path).download.id
        try await received(first, id, atLeast: 3_000_000)
        await first.suspendAndStop()
        signal.set()
        let second = try EngineHost(state: state)
        defer { second.stop() }
        #expect(try await second.get(id).receivedByteCount == 3_000_000)
        #expect(try await second.resumeInterrupted() == 1)
        let end = await second.end(id)
        #expect(end.transfer == TransferOrigin(mode: .resumed, offset: 3_000_000, identity: .validated))
        #expect(contents(path) == bytes)
    }

    @Test func `what the user paused stays paused in the next process`() async throws {
        let signal = try Signal()
        let server = try haltingServer(at: 1_000_000, signal)
        let first = try EngineHost(state: state)
        let id = try await first.start(server.url("/file.bin"), path: path).download.id
        try await received(first, id, atLeast: 1_000_000)
        try await first.perform(.pause, id)
        await first.suspendAndStop()
        signal.set()
        let second = try EngineHost(state: state)
        defer { second.stop() }
        #expect(try await second.resumeInterrupted() == 0)
        let again = try await second.start(server.url("/file.bin"), path: path)
        #expect(!again.isCreated)
        #expect(!again.isResumed)
        #expect(again.download.state == .paused)
        #expect(again.download.reason == .user)
        #expect(again.download.receivedByteCount == 1_000_000)
        try await second.perform(.resume, id)
        #expect(await second.end(id).state == .completed)
        #expect(contents(path) == bytes)
    }

    @Test func `a dropped connection goes on by itself`() async throws {
        let bytes = bytes
        let server = try ScriptedServer { request in
            .file(bytes, etag: "\"v1\"") {
                if request.index < 3 { $0.dropAfterByteCount = 1_000_000 }
                $0.resetsOnDrop = request.index == 1
            }
        }
        let host = try EngineHost(state: state)
        defer { host.stop() }
        var options = DownloadOptions()
        options.retry.initialDelayMilliseconds = 10
        let id = try await host.start(server.url("/f"), path: path, options: options).download.id
        let end = await host.end(id)
        #expect(end.state == .completed)
        #expect(end.attempt == 1)
        #expect(contents(path) == bytes)
        #expect(host.events.contains { $0.state == .waiting && $0.reason == .retry && $0.failure != nil })
    }

    @Test func `a changed file is never mixed with the old one`() async throws {
        let old = bytes
        let new = randomBytes(4_000_000, seed: 2)
        let server = try ScriptedServer { request in
            request.index == 0
                ? .file(old, etag: "\"v1\"") { $0.dropAfterByteCount = 2_000_000 }
                : .file(new, etag: "\"v2\"")
        }
        let host = try EngineHost(state: state)
        defer { host.stop() }
        var options = DownloadOptions()
        options.retry.initialDelayMilliseconds = 10
        let id = try await host.start(server.url("/f"), path: path, options: options).download.id
        let end = await host.end(id)
        #expect(end.state == .completed)
        #expect(end.transfer == TransferOrigin(mode: .restarted, offset: 0, why: .validatorChanged))
        #expect(end.attempt == 2)
        #expect(contents(path) == new)
        #expect(server.requests.count == 2)
        #expect(server.requests[1].value("If-Range") == "\"v1\"")
    }

    @Test func `a server that ignores ranges starts over from that same response`() async throws {
        let bytes = bytes
        let server = try ScriptedServer { request in
            .file(bytes, etag: "\"v1\"") {
                $0.ignoresRanges = true
                if request.index == 0 { $0.dropAfterByteCount = 2_000_000 }
            }
        }
        let host = try EngineHost(state: state)
        defer { host.stop() }
        var options = DownloadOptions()
        options.retry.initialDelayMilliseconds = 10
        let id = try await host.start(server.url("/f"), path: path, options: options).download.id
        let end = await host.end(id)
        #expect(end.state == .completed)
        #expect(end.transfer?.mode == .restarted)
        #expect(contents(path) == bytes)
        #expect(server.requests.count <= 3)
    }

    @Test func `without a validator it starts over`() async throws {
        let bytes = bytes
        let server = try ScriptedServer { request in
            .file(bytes) { if request.index == 0 { $0.dropAfterByteCount = 2_000_000 } }
        }
        let host = try EngineHost(state: state)
        defer { host.stop() }
        var options = DownloadOptions()
        options.retry.initialDelayMilliseconds = 10
        let id = try await host.start(server.url("/f"), path: path, options: options).download.id
        let end = await host.end(id)
        #expect(end.transfer == TransferOrigin(mode: .restarted, offset: 0, why: .noValidator))
        #expect(contents(path) == bytes)
        #expect(server.requests[1].value("Range") == nil)
    }

    @Test func `a partial that is gone is told and fetched again`() async throws {
        let signal = try Signal()
        let server = try haltingServer(at: 1_000_000, signal)
        let host = try EngineHost(state: state)
        defer { host.stop() }
        let id = try await host.start(server.url("/f"), path: path).download.id
        try await received(host, id, atLeast: 1_000_000)
        try await host.perform(.pause, id)
        signal.set()
        try FileManager.default.removeItem(atPath: path + ".towline")
        try await host.perform(.resume, id)
        let end = await host.end(id)
        #expect(end.transfer == TransferOrigin(mode: .restarted, offset: 0, why: .partialMissing))
        #expect(contents(path) == bytes)
    }

    @Test func `cancel removes the partial and nothing else`() async throws {
        let signal = try Signal()
        let server = try haltingServer(at: 1_000_000, signal)
        let host = try EngineHost(state: state)
        let id = try await host.start(server.url("/f"), path: path).download.id
        try await received(host, id, atLeast: 1_000_000)
        let answer = try await host.perform(.cancel, id)
        #expect(answer.download.state == .canceled)
        signal.set()
        #expect(try await host.perform(.cancel, id).isChanged == false)
        await #expect(throws: EngineError.self) { try await host.perform(.resume, id) }
        try await host.remove(id)
        await #expect(throws: EngineError.downloadNotFound(id: id)) { try await host.get(id) }
        await host.suspendAndStop()
        #expect(try directory.entries() == ["state"])
    }
}
