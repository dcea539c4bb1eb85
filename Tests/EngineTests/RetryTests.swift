import Core
import Engine
import Platform
import TestSupport
import Testing

/// What is retried, when, and how it ends.
@Suite(.timeLimit(.minutes(1)))
struct RetryTests {
    let directory: TemporaryDirectory
    var state: String { directory.path("state") }
    var path: String { directory.path("file.bin") }
    let bytes = randomBytes(300_000)

    init() throws {
        directory = try TemporaryDirectory()
    }

    @Test(arguments: [503, 429])
    func `a server that asks to slow down is waited for`(status: Int) async throws {
        let bytes = bytes
        let server = try ScriptedServer { request in
            request.index == 0
                ? .status(status, fields: [("Retry-After", "1")]) : .file(bytes, etag: "\"v\"")
        }
        let host = try EngineHost(state: state)
        defer { host.stop() }
        let id = try await host.start(server.url("/f"), path: path).download.id
        let waiting = await host.event { $0.state == .waiting }
        #expect(waiting.reason == .rateLimited)
        let retryAt = try #require(waiting.retryAtUnixMilliseconds)
        #expect(retryAt - waiting.updatedAtUnixMilliseconds >= 900)
        #expect(waiting.failure?.kind == .rateLimited)
        #expect(await host.end(id).state == .completed)
    }

    @Test func `an answer that time will not mend ends it at once, and the partial is not even made`() async throws {
        let server = try ScriptedServer { _ in .status(404, body: Array("not here".utf8)) }
        let host = try EngineHost(state: state)
        defer { host.stop() }
        let id = try await host.start(server.url("/f"), path: path, options: quick()).download.id
        let end = await host.end(id)
        #expect(end.failure?.kind == .httpStatus)
        #expect(end.failure?.httpStatus == 404)
        #expect(server.requests.count == 1)
        #expect(try directory.entries() == ["state"])
    }

    @Test func `rubbish left on a connection does not stand for the answer to the next request`() async throws {
        let bytes = bytes
        let isFirstDone = try Signal()
        let isSpoilt = try Signal()
        let server = try ScriptedServer { request in
            guard request.index == 0 else { return .file(bytes, etag: "\"v\"") }
            return .script([
                .send(ScriptedServer.Response.head(200, [("Content-Length", "3")])), .send("abc"),
                .wait(isFirstDone), .send("more than was announced\r\n"), .set(isSpoilt),
            ])
        }
        let host = try EngineHost(state: state)
        defer { host.stop() }
        let first = try await host.start(server.url("/short"), path: directory.path("short")).download.id
        #expect(await host.end(first).state == .completed)
        isFirstDone.set()
        await isSpoilt.wait()
        let second = try await host.start(server.url("/f"), path: path, options: quick()).download.id
        #expect(await host.end(second).state == .completed)
        #expect(contents(path) == bytes)
    }

    @Test func `silence is a stall, and the bytes before it are kept`() async throws {
        let bytes = bytes
        let server = try ScriptedServer { request in
            .file(bytes, etag: "\"v\"") { if request.index == 0 { $0.stallAfterByteCount = 100_000 } }
        }
        let host = try EngineHost(state: state)
        defer { host.stop() }
        let options = quick { $0.stallTimeoutMilliseconds = 1_000 }
        let id = try await host.start(server.url("/f"), path: path, options: options).download.id
        let waiting = await host.event { $0.state == .waiting }
        #expect(waiting.failure?.kind == .stalled)
        #expect(waiting.receivedByteCount >= 100_000)
        let end = await host.end(id)
        #expect(end.transfer == TransferOrigin(mode: .resumed, offset: 100_000, identity: .validated))
        #expect(contents(path) == bytes)
    }

    @Test func `failures in a row without a byte use up the tries; a resume is a new attempt with the old bytes`()
        async throws
    {
        let bytes = bytes
        let isDown = Guarded(true)
        let server = try ScriptedServer { request in
            if request.index == 0 { return .file(bytes, etag: "\"v\"") { $0.dropAfterByteCount = 150_000 } }
            return isDown.withLock { $0 } ? .close : .file(bytes, etag: "\"v\"")
        }
        let host = try EngineHost(state: state)
        defer { host.stop() }
        let id = try await host.start(server.url("/f"), path: path, options: quick(maxAttempts: 3)).download.id
        let failed = await host.end(id)
        #expect(failed.state == .failed)
        #expect(failed.failure?.kind == .incomplete)
        #expect(failed.receivedByteCount == 150_000)
        #expect(failed.attempt == 1)
        // One request that received bytes, and three that did not.
        #expect(server.requests.count == 4)
        isDown.withLock { $0 = false }
        let resumed = try await host.perform(.resume, id)
        #expect(resumed.download.attempt == 2)
        #expect(resumed.download.receivedByteCount == 150_000)
        let end = await host.event { $0.id == id && $0.state == .completed }
        #expect(end.transfer == TransferOrigin(mode: .resumed, offset: 150_000, identity: .validated))
        #expect(end.attempt == 2)
        #expect(contents(path) == bytes)
    }

    @Test func `a resume on the heels of a failure runs to its end and is saved`() async throws {
        let bytes = bytes
        for round in 0..<8 {
            let server = try ScriptedServer { request in
                request.index == 0 ? .status(404) : .file(bytes, etag: "\"v\"")
            }
            let inner = try TemporaryDirectory(in: directory.path)
            let host = try EngineHost(state: inner.path("state"))
            let id = try await host.start(server.url("/f"), path: inner.path("f"), id: "d").download.id
            await server.waitForFinishedAnswers(1)
            // Repeated until the failure can be resumed; in about half of the runs that is before its event.
            var isResumed = false
            while !isResumed { isResumed = try await host.perform(.resume, id).isChanged }
            let end = await host.event { $0.state == .completed }
            #expect(end.attempt == 2, "round \(round)")
            #expect(try await host.get(id).state == .completed)
            await host.suspendAndStop()
            let second = try EngineHost(state: inner.path("state"))
            #expect(try await second.get(id).state == .completed, "round \(round)")
            second.stop()
        }
    }

    @Test func `a failed download whose destination another has taken is not resumed`() async throws {
        let signal = try Signal()
        defer { signal.set() }
        let bytes = bytes
        let server = try ScriptedServer { request in
            if request.path == "/missing" { return .status(404) }
            return .file(bytes, etag: "\"v\"") { $0.beforeBody = signal }
        }
        let host = try EngineHost(state: state)
        defer { host.stop() }
        let first = try await host.start(server.url("/missing"), path: path).download.id
        _ = await host.end(first)
        let second = try await host.start(server.url("/there"), path: path).download.id
        await #expect(throws: EngineError.destinationHeld(path: path, id: second)) {
            try await host.perform(.resume, first)
        }
        #expect(try await host.get(first).state == .failed)
        signal.set()
        #expect(await host.end(second).state == .completed)
        #expect(contents(path) == bytes)
        #expect(host.events.filter { $0.id == first }.last?.state == .failed)
        #expect(server.requests.count == 2)
    }

    @Test func `a user does not have to wait for a retry`() async throws {
        let bytes = bytes
        let server = try ScriptedServer { request in
            request.index == 0 ? .status(503, fields: [("Retry-After", "3000")]) : .file(bytes, etag: "\"v\"")
        }
        let host = try EngineHost(state: state)
        defer { host.stop() }
        let id = try await host.start(server.url("/f"), path: path).download.id
        _ = await host.event { $0.state == .waiting }
        try await host.perform(.resume, id)
        let end = await host.end(id)
        #expect(end.state == .completed)
        #expect(end.retryAtUnixMilliseconds == nil)
    }
}
