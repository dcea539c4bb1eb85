import Core
import Engine
import Platform
import TestSupport
import Testing

/// Bodies of every form, and responses that do not match the requested range.
@Suite(.timeLimit(.minutes(1)))
struct BodyTests {
    let directory: TemporaryDirectory
    var state: String { directory.path("state") }
    var path: String { directory.path("file.bin") }
    let bytes = randomBytes(700_000)

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func run(
        _ server: ScriptedServer, _ options: DownloadOptions = quick()
    ) async throws -> DownloadSnapshot {
        let host = try EngineHost(state: state)
        defer { host.stop() }
        let id = try await host.start(server.url("/f"), path: path, options: options).download.id
        return await host.end(id)
    }

    @Test(arguments: [0, 1, 131_072, 700_000], [true, false])
    func `a length that nobody announced is learnt from the end`(byteCount: Int, isChunked: Bool) async throws {
        let bytes = Array(bytes.prefix(byteCount))
        let server = try ScriptedServer { _ in
            .file(bytes, etag: "\"v\"") {
                $0.isChunked = isChunked
                $0.isUntilClose = !isChunked
            }
        }
        let end = try await run(server)
        #expect(end.state == .completed)
        #expect(end.totalByteCount == Int64(byteCount))
        #expect(end.receivedByteCount == Int64(byteCount))
        #expect(contents(path) == bytes)
        #expect(try directory.entries() == ["file.bin", "state"])
    }

    @Test func `chunks that break off are no end, and go on by range`() async throws {
        let bytes = bytes
        let server = try ScriptedServer { request in
            .file(bytes, etag: "\"v\"") {
                $0.isChunked = true
                if request.index == 0 { $0.dropAfterByteCount = 400_000 }
            }
        }
        let end = try await run(server)
        #expect(end.state == .completed)
        #expect(end.transfer == TransferOrigin(mode: .resumed, offset: 400_000, identity: .validated))
        #expect(contents(path) == bytes)
    }

    @Test func `a 416 tells that chunks which broke off at the very end were all`() async throws {
        let bytes = bytes
        let server = try ScriptedServer { request in
            if request.index > 0 { return .file(bytes, etag: "\"v\"") }
            return .script([
                .send(ScriptedServer.Response.head(200, [("ETag", "\"v\""), ("Transfer-Encoding", "chunked")])),
                .send(String(bytes.count, radix: 16) + "\r\n"), .send(bytes), .send("\r\n"), .close,
            ])
        }
        let end = try await run(server)
        #expect(end.state == .completed)
        #expect(end.totalByteCount == 700_000)
        #expect(end.receivedByteCount == 700_000)
        #expect(contents(path) == bytes)
        #expect(server.requests.count == 2)
    }

    /// Responses to the second request, which asks for `400000-699999`.
    enum Lie: String, CaseIterable, Sendable {
        case wrongStart, noContentRange, otherTotal, wholeUnder206, multipart, shortSubset, encoded, noUnit
        case precondition, range416, range416OtherTotal, range416Bare, badRequest, tooMuch, tooLittle, otherETag
        case unknownTotal, webPage, noContent
    }

    @Test(arguments: Lie.allCases)
    func `no answer to a range spoils the file`(_ lie: Lie) async throws {
        let bytes = bytes
        let server = try ScriptedServer { request in
            if request.index == 0 { return .file(bytes, etag: "\"v\"") { $0.dropAfterByteCount = 400_000 } }
            guard request.index == 1 else { return .file(bytes, etag: "\"v\"") }
            let rest = Array(bytes[400_000...])
            func part(_ range: String?, _ body: [UInt8], _ more: [(String, String)] = [("ETag", "\"v\"")])
                -> ScriptedServer.Response
            {
                .status(206, fields: (range.map { [("Content-Range", $0)] } ?? []) + more, body: body)
            }
            return switch lie {
            case .wrongStart: part("bytes 300000-699999/700000", Array(bytes[300_000...]))
            case .noContentRange: part(nil, rest)
            case .otherTotal: part("bytes 400000-699999/800000", rest)
            case .wholeUnder206: part("bytes 400000-699999/700000", bytes)
            case .multipart:
                part(nil, rest, [("Content-Type", "multipart/byteranges; boundary=x"), ("ETag", "\"v\"")])
            case .shortSubset: part("bytes 400000-499999/700000", Array(rest.prefix(100_000)))
            case .encoded:
                part("bytes 400000-699999/700000", rest, [("Content-Encoding", "gzip"), ("ETag", "\"v\"")])
            case .noUnit: part("400000-699999/700000", rest)
            case .precondition: .status(412)
            case .range416: .status(416, fields: [("Content-Range", "bytes */700000")])
            case .range416OtherTotal: .status(416, fields: [("Content-Range", "bytes */400000")])
            case .range416Bare: .status(416)
            case .badRequest: .status(400)
            case .tooMuch:
                .script([
                    .send(
                        ScriptedServer.Response.head(
                            206, [("Content-Range", "bytes 400000-699999/700000"), ("ETag", "\"v\"")])),
                    .send(rest + Array(repeating: 0, count: 50_000)), .close,
                ])
            case .tooLittle:
                .script([
                    .send(
                        ScriptedServer.Response.head(
                            206, [("Content-Range", "bytes 400000-699999/700000"), ("ETag", "\"v\"")])),
                    .send(Array(rest.prefix(1_000))), .close,
                ])
            case .otherETag: part("bytes 400000-699999/700000", rest, [("ETag", "\"w\"")])
            case .unknownTotal: part("bytes 400000-699999/*", rest)
            case .webPage: .status(200, fields: [("Content-Type", "text/html")], body: Array("<html>".utf8))
            case .noContent: .status(204)
            }
        }
        let host = try EngineHost(state: state)
        defer { host.stop() }
        let id = try await host.start(server.url("/f"), path: path, options: quick()).download.id
        let settled = await host.event { $0.state.isFinal || $0.reason == .needsUrl }
        switch lie {
        case .webPage:
            #expect(settled.reason == .needsUrl)
            #expect(settled.receivedByteCount == 400_000)
            #expect(contents(path) == nil)
            try await host.perform(.resume, id)
            let end = await host.end(id)
            #expect(end.transfer == TransferOrigin(mode: .resumed, offset: 400_000, identity: .validated))
            #expect(contents(path) == bytes)
        case .noContent:
            #expect(settled.failure?.httpStatus == 204)
            #expect(settled.receivedByteCount == 400_000)
            #expect(contents(path) == nil)
        default:
            #expect(settled.state == .completed, "\(String(describing: settled.failure))")
            #expect(contents(path) == bytes)
        }
    }

    @Test func `a file that grew is fetched anew`() async throws {
        let old = bytes
        let new = randomBytes(900_000, seed: 3)
        let server = try ScriptedServer { request in
            request.index == 0
                ? .file(old, lastModified: "Sat, 01 Jan 2022 00:00:00 GMT") { $0.dropAfterByteCount = 400_000 }
                : .file(new, lastModified: "Sat, 01 Jan 2022 00:00:00 GMT")
        }
        let end = try await run(server)
        #expect(end.state == .completed)
        #expect(end.transfer?.mode == .restarted)
        #expect(end.attempt == 2)
        #expect(end.totalByteCount == 900_000)
        #expect(contents(path) == new)
    }

    @Test func `a file that shrank leaves no tail of the old one`() async throws {
        let old = bytes
        let new = randomBytes(90_000, seed: 3)
        let server = try ScriptedServer { request in
            request.index == 0
                ? .file(old, etag: "\"v\"") { $0.dropAfterByteCount = 400_000 } : .file(new, etag: "\"w\"")
        }
        let end = try await run(server)
        #expect(end.state == .completed)
        #expect(contents(path) == new)
    }

    @Test func `a change is refused where the host wants that, and the bytes stay`() async throws {
        let bytes = bytes
        let server = try ScriptedServer { request in
            .file(bytes, etag: request.index == 0 ? "\"v\"" : "\"w\"") {
                if request.index == 0 { $0.dropAfterByteCount = 400_000 }
            }
        }
        let end = try await run(server, quick { $0.onChange = .fail })
        #expect(end.state == .failed)
        #expect(end.failure?.kind == .remoteChanged)
        #expect(end.receivedByteCount == 400_000)
        #expect(end.attempt == 1)
        #expect(contents(path) == nil)
    }

    // The small one begins and ends in one turn of the loop.
    @Test(arguments: [700_000, 2_000])
    func `a body of unknown length that grows too large ends with its bytes counted`(byteCount: Int) async throws {
        let bytes = Array(bytes.prefix(byteCount))
        let server = try ScriptedServer { _ in .file(bytes, etag: "\"v\"") { $0.isChunked = true } }
        let end = try await run(server, quick { $0.maxFileByteCount = Int64(byteCount / 4) })
        #expect(end.failure?.kind == .sizeLimit)
        #expect(end.attempt == 1)
        #expect(contents(path) == nil)
    }
}
