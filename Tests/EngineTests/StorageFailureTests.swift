import Core
import Engine
import Foundation
import Platform
import TestSupport
import Testing

/// Full disks: with the files, and with the state.
@Suite(.enabled(if: mayMount, "SKIPPED: only root may mount the small file systems that these tests fill"))
struct StorageFailureTests {
    let directory: TemporaryDirectory
    let volume: SmallVolume

    init() throws {
        directory = try TemporaryDirectory()
        volume = try SmallVolume("size=1m")
    }

    @Test(.timeLimit(.minutes(1)), arguments: [true, false])
    func `a full disk is waited for, and the bytes before it are kept`(isLengthKnown: Bool) async throws {
        let bytes = randomBytes(900_000)
        let server = try ScriptedServer { request in
            .file(bytes, etag: "\"v\"") { $0.isChunked = !isLengthKnown && request.index == 0 }
        }
        try Data(count: 500_000).write(to: URL(fileURLWithPath: volume.path("half")))
        let host = try EngineHost(state: directory.path("state"), settings: settings(maxActive: 1))
        defer { host.stop() }
        let path = volume.path("f")
        let id = try await host.start(server.url("/f"), path: path, options: quick()).download.id
        let waiting = await host.event { $0.state == .waiting }
        #expect(waiting.reason == .diskFull)
        #expect(waiting.failure?.kind == .diskFull)
        // Its slot is free.
        let other = try await host.start(server.url("/g"), path: directory.path("g")).download.id
        #expect(await host.end(other).state == .completed)
        try FileManager.default.removeItem(atPath: volume.path("half"))
        try await host.perform(.resume, id)
        let end = await host.event { $0.id == id && $0.state.isFinal }
        #expect(end.state == .completed)
        #expect(contents(path) == bytes)
    }

    @Test(.timeLimit(.minutes(1)))
    func `with the state's disk full requests fail, what runs goes on, and later it is saved`() async throws {
        let bytes = randomBytes(600_000)
        let signal = try Signal()
        let server = try ScriptedServer { request in
            .file(bytes, etag: "\"v\"") { if request.path == "/f" { $0.middle = (300_000, signal) } }
        }
        let host = try EngineHost(state: volume.path("state"))
        let path = directory.path("f")
        let id = try await host.start(server.url("/f"), path: path, id: "f").download.id
        let paused = try await host.start(server.url("/p"), path: directory.path("p"), startsPaused: true).download.id
        _ = try await host.poll(id) { $0.receivedByteCount == 300_000 }
        volume.fill()
        // The write-ahead log may have some space left.
        var failure: EngineError?
        for index in 0..<200 where failure == nil {
            do throws(EngineError) {
                do {
                    _ = try await host.start(
                        server.url("/\(index)"), path: directory.path("n\(index)"), startsPaused: true)
                } catch let error as EngineError { throw error } catch {}
            } catch {
                failure = error
            }
        }
        guard case .storageFailure? = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        await #expect(throws: EngineError.self) { try await host.perform(.cancel, paused) }
        signal.set()
        // Its bytes are still written to the destination; its end may have to wait for space.
        while contents(path + ".towline")?.count != 600_000, contents(path) == nil {
            try await Task.sleep(for: .milliseconds(5))
        }
        try volume.makeRoom()
        let end = await host.event { $0.id == id && $0.state == .completed }
        #expect(end.receivedByteCount == 600_000)
        #expect(contents(path) == bytes)
        _ = try await host.poll(paused) { $0.state == .canceled }
        // Changes in memory are stored now, because saves are repeated every second.
        var saved: DownloadState?
        while saved != .completed {
            let other = try EngineHost(state: volume.path("state"))
            saved = try await other.get(id).state
            await other.suspendAndStop()
            try await Task.sleep(for: .milliseconds(50))
        }
        await host.suspendAndStop()
        let second = try EngineHost(state: volume.path("state"))
        #expect(try await second.get(paused).state == .canceled)
        second.stop()
    }

    @Test(.timeLimit(.minutes(1)))
    func `a pause of what was interrupted is refused when it cannot be recorded`() async throws {
        let signal = try Signal()
        let server = try ScriptedServer { _ in .file(randomBytes(300_000)) { $0.middle = (100_000, signal) } }
        defer { signal.set() }
        let first = try EngineHost(state: volume.path("state"))
        let id = try await first.start(server.url("/f"), path: directory.path("f")).download.id
        _ = try await first.poll(id) { $0.receivedByteCount == 100_000 }
        await first.suspendAndStop()
        let second = try EngineHost(state: volume.path("state"))
        #expect(try await second.get(id).reason == .interrupted)
        volume.fill()
        await #expect(throws: EngineError.self) { try await second.perform(.pause, id) }
        await #expect(throws: EngineError.self) { try await second.perform(.resume, onAll: true) }
        try volume.makeRoom()
        try await second.perform(.pause, id)
        await second.suspendAndStop()
        let third = try EngineHost(state: volume.path("state"))
        #expect(try await third.get(id).reason == .user)
        third.stop()
    }
}
