import Core
import Engine
import Foundation
import Platform
import TestSupport
import Testing

/// Which downloads may run, and that a slot is released whatever happens to its download.
@Suite(.timeLimit(.minutes(1)))
struct SlotTests {
    let directory: TemporaryDirectory
    var state: String { directory.path("state") }

    init() throws {
        directory = try TemporaryDirectory()
    }

    @Test func `the server never sees more at once than the limits allow`() async throws {
        let signal = try Signal()
        defer { signal.set() }
        let one = try ScriptedServer { _ in .file([1, 2, 3], etag: "\"v\"") { $0.beforeBody = signal } }
        let two = try ScriptedServer { _ in .file([1, 2, 3], etag: "\"v\"") { $0.beforeBody = signal } }
        let host = try EngineHost(state: state, settings: settings(maxActive: 4, maxActivePerHost: 3))
        defer { host.stop() }
        var ids: [String] = []
        for index in 0..<12 {
            let server = index < 8 ? one : two
            ids.append(try await host.start(server.url("/\(index)"), path: directory.path("\(index)")).download.id)
        }
        await one.waitForRequests(3)
        await two.waitForRequests(1)
        let states = try await host.list(ListRequest(limit: 100)).entries.map(\.download.state)
        #expect(states.count { $0 == .active } == 4)
        #expect(one.requests.map(\.path) == ["/0", "/1", "/2"])
        #expect(two.requests.map(\.path) == ["/8"])
        signal.set()
        for id in ids { #expect(await host.end(id).state == .completed) }
        var most = 0
        var active: Set<String> = []
        for event in host.events {
            // Finalizing needs no slot.
            if event.state == .active, event.phase == .connecting || event.phase == .downloading {
                active.insert(event.id)
            } else {
                active.remove(event.id)
            }
            most = max(most, active.count)
        }
        #expect(most == 4)
    }

    /// Ways for a download to leave its slot.
    enum Trouble: String, CaseIterable, Sendable {
        case refusedConnection, unknownName, notFound, badRange, redirectLoop, missingDirectory, tooLarge
        case pausedConnecting, pausedDownloading, canceledConnecting, canceledBeforeBody, canceledDownloading
        case retrying, wrongChecksum, takenDestination, unusableRedirect
    }

    @Test(arguments: Trouble.allCases)
    func `a slot comes back`(after trouble: Trouble) async throws {
        let bytes = randomBytes(300_000)
        let signal = try Signal()
        defer { signal.set() }
        let server = try ScriptedServer { request in
            switch request.path {
            case "/missing": .status(404)
            case "/loop": .redirect(to: "/loop")
            case "/file": .redirect(to: "file:///etc/passwd")
            case "/head": .file(bytes, etag: "\"v\"") { $0.beforeHead = signal }
            case "/body": .file(bytes, etag: "\"v\"") { $0.beforeBody = signal }
            case "/middle": .file(bytes, etag: "\"v\"") { $0.middle = (200_000, signal) }
            case "/busy": .status(503)
            case "/part": .raw("HTTP/1.1 206 Part\r\nContent-Length: 1\r\nContent-Range: bytes 5-5/9\r\n\r\nx")
            default: .file(bytes, etag: "\"v\"")
            }
        }
        let host = try EngineHost(state: state, settings: settings(maxActive: 1))
        defer { host.stop() }
        let path = directory.path("first")
        func start(
            _ target: String, _ options: DownloadOptions = quick(maxAttempts: 1)
        ) async throws -> String {
            let answer = try await host.start(server.url(target), path: path, options: options)
            return answer.download.id
        }
        func reach(_ target: String, _ phase: DownloadPhase) async throws -> String {
            let id = try await start(target)
            _ = await host.event { $0.id == id && $0.phase == phase }
            if target == "/middle" { _ = try await host.poll(id) { $0.receivedByteCount == 200_000 } }
            return id
        }
        switch trouble {
        case .refusedConnection:
            let gone = try ScriptedServer { _ in .close }
            gone.stop()
            let id = try await host.start(gone.url("/"), path: path, options: quick(maxAttempts: 1)).download.id
            #expect(await host.end(id).failure?.kind == .connect)
        case .unknownName:
            let options = quick(maxAttempts: 0) { $0.connectTimeoutMilliseconds = 2_000 }
            let id = try await host.start("http://name.invalid/", path: path, options: options).download.id
            let kind = await host.end(id).failure?.kind
            #expect(kind == .dns || kind == .timeout)
        case .notFound: #expect(try await host.end(start("/missing")).failure?.httpStatus == 404)
        case .badRange: #expect(try await host.end(start("/part")).failure?.kind == .protocol)
        case .redirectLoop: #expect(try await host.end(start("/loop")).failure?.kind == .tooManyRedirects)
        case .unusableRedirect: #expect(try await host.end(start("/file")).failure?.kind == .redirectDenied)
        case .missingDirectory:
            let inner = directory.path("inner")
            try FileManager.default.createDirectory(atPath: inner, withIntermediateDirectories: false)
            let id = try await host.start(server.url("/body"), path: inner + "/f").download.id
            _ = await host.event { $0.id == id && $0.phase == .downloading }
            try FileManager.default.removeItem(atPath: inner)
            signal.set()
            #expect(await host.end(id).failure?.kind == .destinationGone)
        case .tooLarge:
            let id = try await start("/x", quick { $0.maxFileByteCount = 10 })
            #expect(await host.end(id).failure?.kind == .sizeLimit)
        case .pausedConnecting: try await host.perform(.pause, reach("/head", .connecting))
        case .pausedDownloading: try await host.perform(.pause, reach("/middle", .downloading))
        case .canceledConnecting: try await host.perform(.cancel, reach("/head", .connecting))
        case .canceledBeforeBody: try await host.perform(.cancel, reach("/body", .downloading))
        case .canceledDownloading: try await host.perform(.cancel, reach("/middle", .downloading))
        case .retrying:
            let id = try await start("/busy", DownloadOptions())
            _ = await host.event { $0.id == id && $0.state == .waiting }
        case .wrongChecksum:
            let checksum = Checksum(algorithm: .md5, value: String(repeating: "0", count: 32))
            let id = try await start("/x", quick { $0.checksum = checksum })
            #expect(await host.end(id).failure?.kind == .checksumMismatch)
        case .takenDestination:
            let id = try await reach("/body", .downloading)
            try Data("mine".utf8).write(to: URL(fileURLWithPath: path))
            signal.set()
            #expect(await host.end(id).failure?.kind == .destinationConflict)
            #expect(contents(path) == Array("mine".utf8))
        }
        let id = try await host.start(server.url("/good"), path: directory.path("second")).download.id
        #expect(await host.end(id).state == .completed)
        #expect(contents(directory.path("second")) == bytes)
    }

    @Test func `who became ready first goes first, a pause costs the place`() async throws {
        let signal = try Signal()
        let server = try ScriptedServer { request in
            .file([1, 2, 3], etag: "\"v\"") { if request.path == "/0" { $0.beforeHead = signal } }
        }
        let host = try EngineHost(state: state, settings: settings(maxActive: 1))
        defer { host.stop() }
        var ids: [String] = []
        for index in 0..<5 {
            let path = directory.path("\(index)")
            ids.append(try await host.start(server.url("/\(index)"), path: path).download.id)
        }
        try await host.perform(.pause, ids[1])
        try await host.perform(.resume, ids[1])
        signal.set()
        for id in ids { _ = await host.end(id) }
        #expect(server.requests.map(\.path) == ["/0", "/2", "/3", "/4", "/1"])
    }

    @Test func `a host at its limit holds up nobody else`() async throws {
        let signal = try Signal()
        defer { signal.set() }
        let slow = try ScriptedServer { _ in .file([1]) { $0.beforeHead = signal } }
        let fast = try ScriptedServer { _ in .file([2]) }
        let host = try EngineHost(state: state, settings: settings(maxActive: 4, maxActivePerHost: 1))
        defer { host.stop() }
        for index in 0..<3 { _ = try await host.start(slow.url("/\(index)"), path: directory.path("s\(index)")) }
        for index in 0..<3 {
            let id = try await host.start(fast.url("/\(index)"), path: directory.path("f\(index)")).download.id
            #expect(await host.end(id).state == .completed)
        }
        #expect(slow.requests.count == 1)
    }

    @Test func `forty transfers at once each get their own bytes`() async throws {
        let bytes = randomBytes(1_500_000)
        let server = try ScriptedServer { _ in .file(bytes, etag: "\"v\"") }
        let host = try EngineHost(state: state, settings: settings(maxActive: 200))
        defer { host.stop() }
        var ids: [String] = []
        for index in 0..<40 {
            ids.append(try await host.start(server.url("/\(index)"), path: directory.path("\(index)")).download.id)
        }
        for (index, id) in ids.enumerated() {
            #expect(await host.end(id).state == .completed)
            #expect(contents(directory.path("\(index)")) == bytes)
        }
    }
}
