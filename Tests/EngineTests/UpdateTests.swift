import Core
import Engine
import Platform
import TestSupport
import Testing

/// A new URL for the same file, a new priority, new metadata.
@Suite(.timeLimit(.minutes(1)))
struct UpdateTests {
    let directory: TemporaryDirectory
    var state: String { directory.path("state") }
    var path: String { directory.path("file.bin") }
    let bytes = randomBytes(2_000_000)

    init() throws {
        directory = try TemporaryDirectory()
    }

    private var options: DownloadOptions {
        var options = DownloadOptions()
        options.retry.initialDelayMilliseconds = 10
        return options
    }

    @Test func `an expired link waits for a new one, and goes on from what is held`() async throws {
        let bytes = bytes
        let server = try ScriptedServer { request in
            if request.path == "/new" { return .file(bytes, etag: "\"v\"") }
            if request.occurrence > 0 { return .status(403, body: Array("<Error>expired</Error>".utf8)) }
            return .file(bytes, etag: "\"v\"") { $0.dropAfterByteCount = 1_200_000 }
        }
        let host = try EngineHost(state: state)
        defer { host.stop() }
        let id = try await host.start(server.url("/old?sig=1"), path: path, options: options).download.id
        let waiting = await host.event { $0.reason == .needsUrl }
        #expect(waiting.state == .waiting)
        #expect(waiting.failure?.kind == .urlExpired)
        #expect(waiting.receivedByteCount == 1_200_000)
        let updated = try await host.update(id, DownloadUpdate(url: server.url("/new")))
        #expect(updated.state == .queued)
        #expect(updated.url == server.url("/new"))
        let end = await host.end(id)
        #expect(end.state == .completed)
        #expect(end.failure == nil)
        #expect(end.transfer == TransferOrigin(mode: .resumed, offset: 1_200_000, identity: .validated))
        #expect(contents(path) == bytes)
    }

    @Test func `a new URL with another file behind it starts over and mixes nothing`() async throws {
        let old = bytes
        let new = randomBytes(2_000_000, seed: 5)
        let signal = try Signal()
        let server = try ScriptedServer { request in
            request.path == "/new"
                ? .file(new, etag: "\"w\"") : .file(old, etag: "\"v\"") { $0.middle = (900_000, signal) }
        }
        let host = try EngineHost(state: state)
        defer { host.stop() }
        let id = try await host.start(server.url("/old"), path: path, options: options).download.id
        _ = try await host.poll(id) { $0.receivedByteCount >= 900_000 }
        let updated = try await host.update(id, DownloadUpdate(url: server.url("/new")))
        #expect(updated.state == .queued)
        signal.set()
        let end = await host.end(id)
        #expect(end.transfer == TransferOrigin(mode: .restarted, offset: 0, why: .validatorChanged))
        #expect(contents(path) == new)
    }

    @Test func `metadata and headers are replaced and cleared, and kept`() async throws {
        let server = try ScriptedServer { _ in .status(404) }
        let host = try EngineHost(state: state)
        let id = try await host.start(server.url("/f"), path: path, options: options, startsPaused: true).download.id
        #expect(try await host.update(id, DownloadUpdate(metadata: .set("{\"a\":1}"))).metadataText == "{\"a\":1}")
        let cleared = try await host.update(
            id, DownloadUpdate(headers: [HeaderField("X-Key", "k")], priority: 7, metadata: .clear))
        #expect(cleared.metadataText == nil)
        #expect(cleared.priority == 7)
        #expect(cleared.state == .paused)
        await host.suspendAndStop()

        let next = try EngineHost(state: state)
        defer { next.stop() }
        #expect(try await next.get(id).priority == 7)
        try await next.perform(.resume, id)
        _ = await next.end(id)
        #expect(server.requests.first?.value("X-Key") == "k")
    }

    @Test func `what is over cannot be updated, but a failed download can`() async throws {
        let bytes = bytes
        let server = try ScriptedServer { request in
            request.path == "/gone" ? .status(404) : .file(bytes, etag: "\"v\"")
        }
        let host = try EngineHost(state: state)
        defer { host.stop() }
        let done = try await host.start(server.url("/f"), path: path).download.id
        _ = await host.end(done)
        await #expect(throws: EngineError.notUpdatable(id: done, state: .completed)) {
            try await host.update(done, DownloadUpdate(priority: 1))
        }
        await #expect(throws: EngineError.downloadNotFound(id: "nope")) {
            try await host.update("nope", DownloadUpdate(priority: 1))
        }
        let failed = try await host.start(server.url("/gone"), path: directory.path("other")).download.id
        #expect(await host.end(failed).state == .failed)
        let updated = try await host.update(failed, DownloadUpdate(url: server.url("/f")))
        #expect(updated.state == .failed)
        try await host.perform(.resume, failed)
        let end = await host.event { $0.id == failed && $0.state == .completed }
        #expect(end.url == server.url("/f"))
        #expect(contents(directory.path("other")) == bytes)
    }

    @Test func `a higher priority goes first`() async throws {
        let bytes = randomBytes(1_000)
        let signal = try Signal()
        let server = try ScriptedServer { request in
            .file(bytes, etag: "\"v\"") { if request.index == 0 { $0.beforeHead = signal } }
        }
        var settings = EngineSettings()
        settings.maxActive = 1
        let host = try EngineHost(state: state, settings: settings)
        defer { host.stop() }
        var ids: [String] = []
        for name in ["a", "b", "c"] {
            ids.append(try await host.start(server.url("/\(name)"), path: directory.path(name)).download.id)
        }
        await server.waitForRequests(1)
        _ = try await host.update(ids[2], DownloadUpdate(priority: 1))
        signal.set()
        for id in ids { _ = await host.end(id) }
        #expect(server.requests.map(\.path) == ["/a", "/c", "/b"])
    }
}
