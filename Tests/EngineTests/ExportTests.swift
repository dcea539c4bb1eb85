import Core
import Engine
import Platform
import TestSupport
import Testing

/// Resume data: exported by one process, used by another one with another state directory.
@Suite(.timeLimit(.minutes(1)))
struct ExportTests {
    let directory: TemporaryDirectory
    var path: String { directory.path("file.bin") }
    var partialPath: String { path + ".towline" }
    let bytes = randomBytes(2_000_000)

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func state(_ name: String) -> String { directory.path("state-\(name)") }

    /// A paused download with the first million bytes, in the state directory `a`; its host continues.
    private func pausedHost(_ server: ScriptedServer, _ signal: Signal) async throws -> (EngineHost, id: String) {
        let host = try EngineHost(state: state("a"))
        let id = try await host.start(server.url("/file.bin"), path: path).download.id
        _ = try await host.poll(id) { $0.receivedByteCount == 1_000_000 }
        try await host.perform(.pause, id)
        signal.set()
        return (host, id)
    }

    private func server(_ signal: Signal) throws -> ScriptedServer {
        let bytes = bytes
        return try ScriptedServer { request in
            .file(bytes, etag: "\"v1\"") { if request.index == 0 { $0.middle = (1_000_000, signal) } }
        }
    }

    @Test func `a download goes on in another state directory where it was, and once only`() async throws {
        let signal = try Signal()
        let server = try server(signal)
        let (first, id) = try await pausedHost(server, signal)
        defer { first.stop() }
        let text = try await first.export(id)
        #expect(text.utf8.count <= Limits.resumeDataByteCount)
        let data = try ResumeData(text)
        #expect(data.isURLWhole && data.path == path)

        let second = try EngineHost(state: state("b"))
        defer { second.stop() }
        let started = try await second.start(data.url, path: path, id: "moved", resumeData: data)
        #expect(started.isCreated && started.isResumed)
        #expect(started.download.receivedByteCount == 1_000_000)
        let end = await second.end("moved")
        #expect(end.transfer == TransferOrigin(mode: .resumed, offset: 1_000_000, identity: .validated))
        #expect(contents(path).map { $0 == bytes } ?? false)
        #expect(server.requests.last?.value("Range") == "bytes=983616-1999999")

        let third = try EngineHost(state: state("c"))
        defer { third.stop() }
        await #expect(throws: EngineError.resumeDataUnusable(path: partialPath, reason: .partialMissing)) {
            try await third.start(data.url, path: directory.path("other"), resumeData: data)
        }
        // The exporting process restarts at 0, and says why.
        try await first.perform(.resume, id)
        let failed = await first.end(id)
        #expect(failed.state == .failed && failed.failure?.kind == .destinationConflict)
    }

    @Test func `a paused taker keeps the partial from being taken twice`() async throws {
        let signal = try Signal()
        let server = try server(signal)
        defer { server.stop() }
        let (first, id) = try await pausedHost(server, signal)
        defer { first.stop() }
        let data = try ResumeData(await first.export(id))
        let second = try EngineHost(state: state("b"))
        defer { second.stop() }
        let taken = try await second.start(data.url, path: path, startsPaused: true, resumeData: data)
        #expect(taken.download.state == .paused && taken.download.receivedByteCount == 1_000_000)
        #expect(taken.download.partialPath == path + ".2.towline")
        let again = try await second.start(data.url, path: path, resumeData: data)
        #expect(!again.isCreated && again.download.id == taken.download.id)
        let third = try EngineHost(state: state("c"))
        defer { third.stop() }
        await #expect(throws: EngineError.resumeDataUnusable(path: partialPath, reason: .partialMissing)) {
            try await third.start(data.url, path: path, resumeData: data)
        }
        try await second.perform(.resume, taken.download.id)
        #expect(await second.end(taken.download.id).state == .completed)
        #expect(contents(path).map { $0 == bytes } ?? false)
    }

    @Test func `what a process has open is not taken from it`() async throws {
        let signal = try Signal()
        defer { signal.set() }
        let server = try server(signal)
        let first = try EngineHost(state: state("a"))
        defer { first.stop() }
        let id = try await first.start(server.url("/file.bin"), path: path).download.id
        _ = try await first.poll(id) { $0.receivedByteCount == 1_000_000 }
        let data = try ResumeData(await first.export(id))
        let second = try EngineHost(state: state("b"))
        defer { second.stop() }
        await #expect(throws: EngineError.resumeDataUnusable(path: partialPath, reason: .partialInUse)) {
            try await second.start(data.url, path: path, resumeData: data)
        }
        signal.set()
        #expect(await first.end(id).state == .completed)
        #expect(contents(path).map { $0 == bytes } ?? false)
    }

    @Test func `a partial that began anew since is not taken for the old one`() async throws {
        let signal = try Signal()
        let old = bytes
        let new = randomBytes(2_000_000)
        let server = try ScriptedServer { request in
            if request.index == 0 { return .file(old, etag: "\"v1\"") { $0.middle = (1_000_000, signal) } }
            return .file(new, etag: "\"v2\"") { if request.index == 1 { $0.middle = (500_000, signal) } }
        }
        let first = try EngineHost(state: state("a"))
        defer { first.stop() }
        let id = try await first.start(server.url("/file.bin"), path: path).download.id
        _ = try await first.poll(id) { $0.receivedByteCount == 1_000_000 }
        try await first.perform(.pause, id)
        let data = try ResumeData(await first.export(id))
        try await first.perform(.resume, id)
        _ = try await first.poll(id) { $0.transfer?.mode == .restarted && $0.receivedByteCount == 500_000 }
        try await first.perform(.pause, id)
        signal.set()
        let second = try EngineHost(state: state("b"))
        defer { second.stop() }
        await #expect(throws: EngineError.resumeDataUnusable(path: partialPath, reason: .partialReplaced)) {
            try await second.start(data.url, path: path, resumeData: data)
        }
        try await first.perform(.resume, id)
        #expect(await first.end(id).state == .completed)
        #expect(contents(path).map { $0 == new } ?? false)
    }

    @Test func `a checksum goes along, a renewed URL may be given, what ended gives nothing`() async throws {
        let signal = try Signal()
        let server = try server(signal)
        let host = try EngineHost(state: state("a"))
        defer { host.stop() }
        var options = DownloadOptions()
        options.headers = [HeaderField("Authorization", "Bearer secret")]
        options.checksum = Checksum(algorithm: .sha256, value: String(repeating: "0", count: 64))
        let url = server.url("/file.bin?token=secret")
        let id = try await host.start(url, path: path, options: options).download.id
        _ = try await host.poll(id) { $0.receivedByteCount == 1_000_000 }
        try await host.perform(.pause, id)
        signal.set()
        let text = try await host.export(id)
        #expect(!text.contains("secret"))
        let data = try ResumeData(text)
        #expect(!data.isURLWhole)
        #expect(data.options.checksum == options.checksum)
        try await host.perform(.cancel, id, deletesPartial: false)
        await #expect(throws: EngineError.notExportable(id: id, state: .canceled)) { try await host.export(id) }
        await #expect(throws: EngineError.downloadNotFound(id: "none")) { try await host.export("none") }

        // Canceled without deleting its bytes: a start in the same state directory can also take them over.
        let taken = try await host.start(url, path: path, options: data.options, resumeData: data)
        #expect(taken.isCreated && taken.isResumed)
        let end = await host.end(taken.download.id)
        #expect(end.failure?.kind == .checksumMismatch)
        #expect(contents(path) == nil)
    }

    @Test func `a text that is not what was exported is refused`() async throws {
        let signal = try Signal()
        let server = try server(signal)
        defer { server.stop() }
        let (host, id) = try await pausedHost(server, signal)
        defer { host.stop() }
        let text = try await host.export(id)
        #expect(throws: ResumeDataError(message: "is not resume data")) { try ResumeData("x") }
        #expect(throws: ResumeDataError(message: "is of another version")) { try ResumeData("towline-resume-2&x=1") }
        let bytes = Array(text.utf8)
        for index in stride(from: "towline-resume-1&".utf8.count, to: bytes.count, by: 7) {
            var damaged = bytes
            damaged[index] ^= 1
            #expect(throws: ResumeDataError.self) { try ResumeData(String(decoding: damaged, as: UTF8.self)) }
            #expect(throws: ResumeDataError.self) { try ResumeData(String(decoding: bytes[..<index], as: UTF8.self)) }
        }
        #expect(try ResumeData(text).partialPath == partialPath)
    }

    @Test func `a partial that was deleted leaves resume data with nothing to take`() async throws {
        let signal = try Signal()
        let server = try server(signal)
        defer { server.stop() }
        let (first, id) = try await pausedHost(server, signal)
        defer { first.stop() }
        let early = try ResumeData(await first.export(id))
        try removeFile(partialPath)
        let late = try ResumeData(await first.export(id))
        #expect(late.partialPath == nil)
        let second = try EngineHost(state: state("b"))
        defer { second.stop() }
        await #expect(throws: EngineError.resumeDataUnusable(path: partialPath, reason: .partialMissing)) {
            try await second.start(early.url, path: path, resumeData: early)
        }
        let fresh = try await second.start(late.url, path: path, resumeData: late)
        #expect(fresh.isCreated && !fresh.isResumed)
        #expect(await second.end(fresh.download.id).state == .completed)
        #expect(contents(path).map { $0 == bytes } ?? false)
    }
}
