import Core
import Engine
import Foundation
import Platform
import TestSupport
import Testing

/// Full disks: all downloads to the disk wait together, and continue by themselves when there is space.
@Suite(.enabled(if: mayMount, "SKIPPED: only root may mount the small file systems that these tests fill"), .serialized)
struct FullDiskTests {
    let directory: TemporaryDirectory
    let volume: SmallVolume

    init() throws {
        directory = try TemporaryDirectory()
        volume = try SmallVolume("size=8m")
    }

    /// Uses some of the space.
    private func put(_ byteCount: Int, _ name: String) throws {
        try Data(count: byteCount).write(to: URL(fileURLWithPath: volume.path(name)))
    }

    private func free(_ name: String) throws { try FileManager.default.removeItem(atPath: volume.path(name)) }

    private func isWaitingForRoom(_ download: DownloadSnapshot) -> Bool {
        download.state == .waiting && download.reason == .diskFull
    }

    @Test(.timeLimit(.minutes(1)))
    func `what goes to a full disk stops together, and goes on in its order when there is room`() async throws {
        let bytes = randomBytes(1_000_000)
        let release = try Signal()
        let server = try ScriptedServer { request in
            .file(bytes, etag: "\"v\"") {
                // With unknown length no space is reserved, so that a check of the disk finds none.
                $0.isChunked = ["/a", "/held"].contains(request.path) && request.occurrence == 0
                if request.path == "/held", request.value("Range") == nil { $0.middle = (400_000, release) }
            }
        }
        try put(7_000_000, "hog")
        let host = try EngineHost(state: directory.path("state"), settings: settings(maxActive: 2))
        defer { host.stop() }
        func start(_ name: String, _ path: String) async throws {
            _ = try await host.start(server.url("/\(name)"), path: path, id: name, options: quick())
        }
        try await start("held", volume.path("held"))
        _ = try await host.poll("held") { $0.receivedByteCount == 400_000 }
        try await start("a", volume.path("a"))
        for name in ["c", "d"] { try await start(name, volume.path(name)) }
        try await start("elsewhere", directory.path("elsewhere"))

        for name in ["a", "held", "c", "d"] {
            let waiting = await host.event { $0.id == name && isWaitingForRoom($0) }
            #expect(waiting.failure?.kind == .diskFull)
            #expect(waiting.retryAtUnixMilliseconds != nil)
        }
        #expect(await host.end("elsewhere").state == .completed)
        #expect(try await host.get("held").receivedByteCount == 400_000)

        try free("hog")
        for name in ["a", "held", "c", "d"] {
            let end = await host.end(name)
            #expect(end.state == .completed)
            #expect(contents(volume.path(name)) == bytes)
        }
        #expect(try await host.get("held").attempt == 1)
        // For a file of unknown length the last received byte is requested again.
        #expect(server.requests.last { $0.path == "/held" }?.value("Range") == "bytes=383616-")
        // The first in the queue continues first.
        let order = host.events.filter { $0.state == .queued }.map(\.id).suffix(4)
        #expect(Array(order) == ["held", "a", "c", "d"])
        release.set()
    }

    @Test(.timeLimit(.minutes(1)))
    func `one that is too large for the disk holds up nobody`() async throws {
        let large = randomBytes(7_000_000)
        let small = randomBytes(300_000)
        let server = try ScriptedServer { .file($0.path == "/large" ? large : small, etag: "\"v\"") }
        try put(3_000_000, "hog")
        let host = try EngineHost(state: directory.path("state"))
        defer { host.stop() }
        _ = try await host.start(server.url("/large"), path: volume.path("large"), id: "large")
        let waiting = await host.event { $0.id == "large" && isWaitingForRoom($0) }
        #expect(waiting.receivedByteCount == 0)
        for name in ["one", "two"] {
            _ = try await host.start(server.url("/\(name)"), path: volume.path(name), id: name)
            #expect(await host.end(name).state == .completed)
        }
        #expect(isWaitingForRoom(try await host.get("large")))
        #expect(!FileManager.default.fileExists(atPath: volume.path("large.towline")))
        for name in ["hog", "one", "two"] { try free(name) }
        #expect(await host.end("large").state == .completed)
        #expect(contents(volume.path("large")) == large)
    }

    @Test(.timeLimit(.minutes(1)))
    func `resume tries a full disk at once, pause and cancel end the wait`() async throws {
        let bytes = randomBytes(1_000_000)
        let server = try ScriptedServer { _ in .file(bytes, etag: "\"v\"") { $0.isChunked = true } }
        volume.fill()
        let host = try EngineHost(state: directory.path("state"))
        defer { host.stop() }
        for name in ["a", "b", "c"] {
            _ = try await host.start(server.url("/\(name)"), path: volume.path(name), id: name)
            _ = await host.event { $0.id == name && isWaitingForRoom($0) }
        }
        let asked = server.requests.filter { $0.path == "/c" }.count
        try await host.perform(.resume, "c")
        _ = try await host.poll("c") {
            isWaitingForRoom($0) && server.requests.filter { $0.path == "/c" }.count > asked
        }
        try await host.perform(.pause, "a")
        try await host.perform(.cancel, "b")
        try volume.makeRoom()
        #expect(await host.end("c").state == .completed)
        #expect(try await host.get("a").state == .paused)
        #expect(try await host.get("b").state == .canceled)
        try await host.perform(.resume, "a")
        #expect(await host.end("a").state == .completed)
        #expect(contents(volume.path("a")) == bytes)
    }

    @Test(.timeLimit(.minutes(1)))
    func `a killed wait for room goes on in the next process, and room is reserved before a byte is asked for`()
        async throws
    {
        let bytes = randomBytes(2_000_000)
        let release = try Signal()
        let server = try ScriptedServer { request in
            .file(bytes, etag: "\"v\"") { if request.occurrence == 0 { $0.middle = (900_000, release) } }
        }
        let first = try EngineHost(state: directory.path("state"))
        let path = volume.path("f")
        _ = try await first.start(server.url("/f"), path: path, id: "f")
        _ = try await first.poll("f") { $0.receivedByteCount == 900_000 }
        try await first.perform(.pause, "f")
        await first.suspendAndStop()
        release.set()
        // The partial loses its reserved space, like one that was copied here.
        let file = try FileDescriptor(open: path + ".towline", flags: O_RDWR)
        try file.truncate(to: file.status().byteCount)
        volume.fill()
        let second = try EngineHost(state: directory.path("state"))
        try await second.perform(.resume, "f")
        let waiting = await second.event { isWaitingForRoom($0) }
        #expect(waiting.receivedByteCount == 900_000)
        #expect(server.requests.count == 1)
        second.stop()
        let third = try EngineHost(state: directory.path("state"))
        defer { third.stop() }
        #expect(try await third.resumeInterrupted() == 1)
        _ = await third.event { isWaitingForRoom($0) }
        try volume.makeRoom()
        #expect(await third.end("f").state == .completed)
        #expect(contents(path) == bytes)
        #expect(server.requests.map { $0.value("Range") } == [nil, "bytes=883616-1999999"])
    }
}
