import Core
import Curl
import TestSupport
import Testing

struct TransferTests {
    private static let megabyte = 1 << 20

    @Test(arguments: [
        Fetcher.Plan(bufferCount: 2, bufferByteCount: 64 * 1024),
        Fetcher.Plan(bufferCount: 2, bufferByteCount: 16_384 + 1_000, returnsBuffersLater: true),
        Fetcher.Plan(bufferCount: 1, bufferByteCount: 1 << 20, returnsBuffersLater: true),
    ])
    func `a large body goes through few buffers byte for byte`(_ plan: Fetcher.Plan) async throws {
        var random = RandomBytes(seed: 1)
        let bytes = random.bytes(20 * Self.megabyte)
        let server = try ScriptedServer { _ in .file(bytes) }
        let fetched = try await Client().fetch(server.url("/big"), plan: plan) {
            $0.receiveBufferByteCount = 512 * 1024
        }
        #expect(fetched.outcome == .finished)
        #expect(fetched.body == bytes)
        #expect(fetched.pauseCount > 0)
    }

    @Test func `without a buffer the transfer pauses at the first byte and goes on with one`() async throws {
        let server = try ScriptedServer { _ in .file(Array("hello".utf8)) }
        let client = try Client()
        let result = Task { try await client.fetch(server.url("/"), tag: 1, plan: Fetcher.Plan(bufferCount: 0)) }
        await client.fetcher.waitForPause(tag: 1)
        await client.fetcher.give(tag: 1, byteCount: Transfer.maxPieceByteCount)
        let fetched = try await result.value
        #expect(fetched.outcome == .finished)
        #expect(fetched.body == Array("hello".utf8))
    }

    @Test func `a body that nobody takes in time stays in the buffers`() async throws {
        var random = RandomBytes(seed: 2)
        let bytes = random.bytes(100_000)
        let server = try ScriptedServer { _ in .file(bytes) { $0.isChunked = true } }
        let plan = Fetcher.Plan(bufferCount: 4, bufferByteCount: 40_000, leavesBuffers: true)
        let fetched = try await Client().fetch(server.url("/"), plan: plan)
        #expect(fetched.outcome == .finished)
        #expect(fetched.body == bytes)
    }

    @Test(arguments: [1, 50_000, 99_999] as [Int64])
    func `bytes beyond the limit are not kept`(_ limit: Int64) async throws {
        var random = RandomBytes(seed: 3)
        let bytes = random.bytes(100_000)
        let server = try ScriptedServer { _ in .file(bytes) }
        let fetched = try await Client().fetch(server.url("/"), plan: Fetcher.Plan(bodyLimit: limit))
        #expect(fetched.exceededLimit)
        #expect(fetched.failure?.kind == .protocol)
        #expect(fetched.body == Array(bytes.prefix(Int(limit))))
    }

    @Test func `where no byte is wanted none is waited for`() async throws {
        let server = try ScriptedServer { _ in .file([1, 2, 3]) { $0.stallAfterByteCount = 0 } }
        let fetched = try await Client().fetch(server.url("/"), plan: Fetcher.Plan(bodyLimit: 0))
        #expect(fetched.outcome == .finished)
        #expect(fetched.body.isEmpty)
    }

    @Test func `a body as long as the limit is whole`() async throws {
        var random = RandomBytes(seed: 4)
        let bytes = random.bytes(100_000)
        let server = try ScriptedServer { _ in .file(bytes) }
        let fetched = try await Client().fetch(server.url("/"), plan: Fetcher.Plan(bodyLimit: 100_000))
        #expect(fetched.outcome == .finished)
        #expect(!fetched.exceededLimit)
        #expect(fetched.body == bytes)
    }

    @Test(arguments: [10, 60_000] as [Int64])
    func `a limit below what has come drops the rest of it`(_ limit: Int64) async throws {
        var random = RandomBytes(seed: 5)
        let bytes = random.bytes(100_000)
        let server = try ScriptedServer { _ in .file(bytes) { $0.stallAfterByteCount = 90_000 } }
        let plan = Fetcher.Plan(
            bufferCount: 4, bufferByteCount: 50_000, bodyLimit: limit, limitsAfterByteCount: 90_000, leavesBuffers: true
        )
        let fetched = try await Client().fetch(server.url("/"), plan: plan)
        #expect(fetched.exceededLimit)
        #expect(fetched.body == Array(bytes.prefix(Int(limit))))
    }

    @Test(arguments: [false, true])
    func `a dropped connection is incomplete and keeps the prefix`(_ resets: Bool) async throws {
        var random = RandomBytes(seed: 6)
        let bytes = random.bytes(200_000)
        let server = try ScriptedServer { _ in
            .file(bytes) {
                $0.dropAfterByteCount = 150_000
                $0.resetsOnDrop = resets
            }
        }
        let fetched = try await Client().fetch(server.url("/"))
        #expect(fetched.failure?.kind == .incomplete)
        #expect(fetched.failure?.isRetryable == true)
        #expect(fetched.head?.status == 200)
        // A reset may discard bytes that the kernel had not delivered yet.
        #expect(fetched.body == Array(bytes.prefix(resets ? fetched.body.count : 150_000)))
    }

    @Test func `chunks that end early are incomplete`() async throws {
        let server = try ScriptedServer { _ in
            .file(Array("hello world".utf8)) {
                $0.isChunked = true
                $0.dropAfterByteCount = 5
            }
        }
        let fetched = try await Client().fetch(server.url("/"))
        #expect(fetched.failure?.kind == .incomplete)
        #expect(fetched.body == Array("hello".utf8))
    }

    @Test func `a body up to the end of the connection is finished`() async throws {
        let server = try ScriptedServer { _ in .file(Array("hello".utf8)) { $0.isUntilClose = true } }
        let fetched = try await Client().fetch(server.url("/"))
        #expect(fetched.outcome == .finished)
        #expect(fetched.body == Array("hello".utf8))
    }

    @Test func `a server that closes without an answer is incomplete`() async throws {
        let server = try ScriptedServer { _ in .close }
        #expect(try await Client.fetchOnce(server.url("/")).failure?.kind == .incomplete)
    }

    @Test func `an error status is a finished transfer with its body`() async throws {
        let server = try ScriptedServer { _ in .status(404, body: Array("gone".utf8)) }
        let fetched = try await Client().fetch(server.url("/"))
        #expect(fetched.outcome == .finished)
        #expect(fetched.metrics.statusCode == 404)
        #expect(fetched.body == Array("gone".utf8))
    }

    @Test func `the request carries fields, range and credentials and asks for identity`() async throws {
        let server = try ScriptedServer { _ in .file(Array("0123456789".utf8), etag: "\"v1\"") }
        let fetched = try await Client().fetch(server.url("/a?b=c")) {
            $0.headerFields = [
                HeaderField("X-One", "1"), HeaderField("X-Empty", ""), HeaderField("If-Range", "\"v1\""),
            ]
            $0.range = "2-4"
            $0.userInfo = ParsedURL.UserInfo(user: "u:x", password: "p")
        }
        #expect(fetched.head?.status == 206)
        #expect(fetched.head?.value("content-range") == "bytes 2-4/10")
        #expect(fetched.body == Array("234".utf8))
        let request = try #require(server.requests.first)
        #expect(request.method == "GET")
        #expect(request.target == "/a?b=c")
        #expect(request.version == "HTTP/1.1")
        #expect(request.values("Accept-Encoding") == ["identity"])
        #expect(request.values("Range") == ["bytes=2-4"])
        #expect(request.values("X-One") == ["1"])
        #expect(request.values("X-Empty") == [""])
        #expect(request.values("Authorization") == ["Basic dTp4OnA="])
        #expect(request.value("User-Agent") == nil)
        #expect(request.value("Expect") == nil)
    }

    @Test func `a range that would break the request is refused`() throws {
        let url = try URLParser.parse("http://127.0.0.1/")
        #expect(throws: CurlError.self) { _ = try Transfer(TransferRequest(url: url, range: "0-1\r\nA: b")) }
    }

    @Test(arguments: [
        HeaderField("A", "1\r\nB: 2"), HeaderField("A: 1\r\nB", "2"), HeaderField("", "x"), HeaderField("A B", "x"),
        HeaderField("A", "\u{0}"), HeaderField("Ä", "x"),
    ])
    func `a field that would break the request is refused`(_ field: HeaderField) throws {
        #expect(!field.isSendable)
        let url = try URLParser.parse("http://127.0.0.1/")
        #expect(throws: CurlError.self) { _ = try Transfer(TransferRequest(url: url, headerFields: [field])) }
    }
}
