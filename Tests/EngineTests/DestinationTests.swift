import Core
import Engine
import Foundation
import Platform
import TestSupport
import Testing

/// Names: conflicts at the destination, at the start and later.
@Suite(.timeLimit(.minutes(1)))
struct DestinationTests {
    let directory: TemporaryDirectory
    let inner: String
    var state: String { directory.path("state") }
    let bytes = randomBytes(300_000)

    init() throws {
        directory = try TemporaryDirectory()
        inner = directory.path("inner")
        try FileManager.default.createDirectory(atPath: inner, withIntermediateDirectories: false)
    }

    private func put(_ name: String, _ text: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: "\(inner)/\(name)"))
    }

    private var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: inner)) ?? []).sorted() }

    @Test(arguments: [IfExists.error, .overwrite, .rename, .skip], [true, false])
    func `a file that is there`(ifExists: IfExists, isDirectory: Bool) async throws {
        let bytes = bytes
        try put("f.bin", "old")
        let server = try ScriptedServer { _ in .file(bytes, etag: "\"v\"") }
        let host = try EngineHost(state: state)
        defer { host.stop() }
        let options = quick { $0.ifExists = ifExists }
        let url = server.url("/f.bin")
        if ifExists == .error, !isDirectory {
            let path = "\(inner)/f.bin"
            await #expect(throws: EngineError.destinationExists(path: path)) {
                try await host.start(url, path: path, options: options)
            }
            #expect(names == ["f.bin"])
            return
        }
        let answer =
            isDirectory
            ? try await host.start(url, directory: inner, options: options)
            : try await host.start(url, path: "\(inner)/f.bin", options: options)
        let end = await host.end(answer.download.id)
        switch ifExists {
        case .error:
            #expect(end.failure?.kind == .destinationConflict)
            #expect(contents("\(inner)/f.bin") == Array("old".utf8))
        case .overwrite:
            #expect(end.state == .completed)
            #expect(contents("\(inner)/f.bin") == bytes)
        case .rename:
            #expect(end.path == "\(inner)/f (1).bin")
            #expect(contents("\(inner)/f (1).bin") == bytes)
            #expect(contents("\(inner)/f.bin") == Array("old".utf8))
        case .skip:
            // It is another file: replaced as with `overwrite`.
            #expect(end.transfer?.mode == .fresh)
            #expect(contents("\(inner)/f.bin") == bytes)
        }
        #expect(names == (ifExists == .rename ? ["f (1).bin", "f.bin"] : ["f.bin"]))
    }

    @Test(arguments: [IfExists.error, .overwrite, .rename, .skip])
    func `a file that appears while the bytes come`(ifExists: IfExists) async throws {
        let bytes = bytes
        let signal = try Signal()
        defer { signal.set() }
        let server = try ScriptedServer { request in
            .file(bytes, etag: "\"v\"") { if request.index == 0 { $0.middle = (200_000, signal) } }
        }
        let host = try EngineHost(state: state)
        defer { host.stop() }
        let path = "\(inner)/f.bin"
        let options = quick { $0.ifExists = ifExists }
        let id = try await host.start(server.url("/f.bin"), path: path, options: options).download.id
        _ = try await host.poll(id) { $0.receivedByteCount == 200_000 }
        try put("f.bin", "new")
        signal.set()
        let end = await host.end(id)
        switch ifExists {
        case .error, .skip:
            #expect(end.failure?.kind == .destinationConflict)
            #expect(end.receivedByteCount == 300_000)
            #expect(contents(path) == Array("new".utf8))
            // All bytes are kept: once the name is free, nothing is downloaded again.
            try FileManager.default.removeItem(atPath: path)
            try await host.perform(.resume, id)
            #expect(await host.event { $0.id == id && $0.state == .completed }.attempt == 2)
            #expect(contents(path) == bytes)
            #expect(server.requests.count == 1)
        case .overwrite: #expect(contents(path) == bytes)
        case .rename:
            #expect(end.path == "\(inner)/f (1).bin")
            #expect(contents("\(inner)/f (1).bin") == bytes)
            #expect(contents(path) == Array("new".utf8))
        }
        #expect(names.filter { $0.hasSuffix(".towline") } == [])
    }

    @Test func `downloads that want one name in a directory get one each`() async throws {
        let server = try ScriptedServer { request in
            .file(Array(request.target.utf8)) {
                $0.extraFields = [("Content-Disposition", "attachment; filename=\"same.txt\"")]
            }
        }
        let host = try EngineHost(state: state)
        defer { host.stop() }
        var ids: [String] = []
        let options = quick { $0.ifExists = .rename }
        for index in 0..<6 {
            ids.append(try await host.start(server.url("/\(index)"), directory: inner, options: options).download.id)
        }
        for (index, id) in ids.enumerated() {
            let path = try #require(await host.end(id).path)
            #expect(contents(path) == Array("/\(index)".utf8))
        }
        #expect(names == ["same (1).txt", "same (2).txt", "same (3).txt", "same (4).txt", "same (5).txt", "same.txt"])
    }

    @Test func `the second of two that want one name fails where it may not be renamed`() async throws {
        let bytes = bytes
        let signal = try Signal()
        defer { signal.set() }
        let server = try ScriptedServer { request in
            .file(bytes, etag: "\"v\"") {
                $0.extraFields = [("Content-Disposition", "attachment; filename=\"same.txt\"")]
                if request.path == "/1" { $0.middle = (200_000, signal) }
            }
        }
        let host = try EngineHost(state: state)
        defer { host.stop() }
        let first = try await host.start(server.url("/1"), directory: inner).download.id
        _ = try await host.poll(first) { $0.path != nil }
        let second = try await host.start(server.url("/2"), directory: inner).download.id
        #expect(await host.end(second).failure?.kind == .destinationConflict)
        signal.set()
        #expect(await host.end(first).state == .completed)
        #expect(contents("\(inner)/same.txt") == bytes)
    }

    @Test(arguments: [1_000, 300_000]) func `a stranger with the partial's name is left alone`(byteCount: Int)
        async throws
    {
        let bytes = Array(bytes.prefix(byteCount))
        try put("f.bin.towline", "mine")
        let server = try ScriptedServer { _ in .file(bytes, etag: "\"v\"") }
        let host = try EngineHost(state: state)
        defer { host.stop() }
        let id = try await host.start(server.url("/f.bin"), path: "\(inner)/f.bin").download.id
        #expect(await host.end(id).state == .completed)
        #expect(contents("\(inner)/f.bin") == bytes)
        #expect(contents("\(inner)/f.bin.towline") == Array("mine".utf8))
    }

    @Test func `a partial whose directory is away is not forgotten`() async throws {
        let bytes = bytes
        let signal = try Signal()
        let server = try ScriptedServer { request in
            .file(bytes, etag: "\"v\"") { if request.index == 0 { $0.middle = (200_000, signal) } }
        }
        let host = try EngineHost(state: state)
        defer { host.stop() }
        let path = "\(inner)/f.bin"
        let id = try await host.start(server.url("/f.bin"), path: path).download.id
        _ = try await host.poll(id) { $0.receivedByteCount == 200_000 }
        try await host.perform(.pause, id)
        signal.set()
        try FileManager.default.moveItem(atPath: inner, toPath: inner + "-away")
        try await host.perform(.resume, id)
        let failed = await host.end(id)
        #expect(failed.failure?.kind == .destinationGone)
        #expect(failed.receivedByteCount == 200_000)
        try FileManager.default.moveItem(atPath: inner + "-away", toPath: inner)
        try await host.perform(.resume, id)
        let end = await host.event { $0.id == id && $0.state == .completed }
        #expect(end.transfer == TransferOrigin(mode: .resumed, offset: 200_000, identity: .validated))
        #expect(contents(path) == bytes)
    }

    @Test func `a checksum that is right completes, one that is wrong leaves no file and a resume fetches anew`()
        async throws
    {
        let good = bytes
        var bad = bytes
        bad[100] ^= 1
        let served = bad
        let server = try ScriptedServer { request in .file(request.index == 0 ? served : good, etag: "\"v\"") }
        let host = try EngineHost(state: state)
        defer { host.stop() }
        let path = "\(inner)/f.bin"
        let checksum = try digest(good, .sha256, in: directory)
        let options = quick { $0.checksum = checksum }
        let id = try await host.start(server.url("/f"), path: path, options: options).download.id
        let failed = await host.end(id)
        #expect(failed.failure?.kind == .checksumMismatch)
        #expect(failed.receivedByteCount == 0)
        #expect(failed.attempt == 2)
        #expect(contents(path) == nil)
        try await host.perform(.resume, id)
        let end = await host.event { $0.id == id && $0.state == .completed }
        #expect(end.transfer == TransferOrigin(mode: .restarted, offset: 0, why: .checksumMismatch))
        #expect(server.requests.count == 2)
        #expect(server.requests[1].value("Range") == nil)
        #expect(contents(path) == good)
    }
}
