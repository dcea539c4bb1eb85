import Core
import Engine
import Foundation
import Platform
import TestSupport
import Testing

func contents(_ path: String) -> [UInt8]? {
    FileManager.default.contents(atPath: path).map { Array($0) }
}

func randomBytes(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    var generator = RandomBytes(seed: seed)
    return generator.bytes(count)
}

@Suite(.timeLimit(.minutes(1)))
struct DownloadTests {
    let directory: TemporaryDirectory
    var state: String { directory.path("state") }

    init() throws {
        directory = try TemporaryDirectory()
    }

    @Test(arguments: [0, 1, 1_000, 131_071, 131_072, 131_073, 1_000_000, 20_000_000])
    func `a file of any size arrives whole under its name alone`(byteCount: Int) async throws {
        let bytes = randomBytes(byteCount)
        let server = try ScriptedServer { _ in .file(bytes, etag: "\"v1\"") }
        let host = try EngineHost(state: state)
        defer { host.stop() }
        let path = directory.path("file.bin")
        let answer = try await host.start(server.url("/file.bin"), path: path)
        #expect(answer.isCreated)
        #expect(answer.download.state == .queued)
        let end = await host.end(answer.download.id)
        #expect(end.state == .completed)
        #expect(end.failure == nil)
        #expect(end.receivedByteCount == Int64(byteCount))
        #expect(end.totalByteCount == Int64(byteCount))
        #expect(contents(path) == bytes)
        #expect(try directory.entries() == ["file.bin", "state"])
    }

    @Test func `a directory destination takes the name that the server suggests`() async throws {
        let server = try ScriptedServer { _ in
            .file(Array("hello".utf8)) {
                $0.extraFields = [("Content-Disposition", "attachment; filename=\"report.pdf\"")]
            }
        }
        let host = try EngineHost(state: state)
        defer { host.stop() }
        let answer = try await host.start(server.url("/x?y=z"), directory: directory.path)
        #expect(answer.download.path == nil)
        let end = await host.end(answer.download.id)
        #expect(end.path == directory.path("report.pdf"))
        #expect(contents(directory.path("report.pdf")) == Array("hello".utf8))
    }
}
