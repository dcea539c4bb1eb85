import Core
import Curl
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct ConnectionTests {
    @Test func `a handshake that nobody answers is a time-out`() async throws {
        let server = try ScriptedServer { _ in .stall }
        let url = "https://127.0.0.1:\(server.port)/"
        let fetched = try await Client().fetch(url) { $0.connectTimeoutMilliseconds = 200 }
        #expect(fetched.failure?.kind == .timeout)
        #expect(server.requests.isEmpty)
    }

    @Test func `a closed port is a failed connection`() async throws {
        let server = try ScriptedServer { _ in .close }
        server.stop()
        let fetched = try await Client().fetch("http://127.0.0.1:\(server.port)/?token=secret")
        let failure = try #require(fetched.failure)
        #expect(failure.kind == .connect)
        #expect(failure.isRetryable)
        #expect(failure.curlCode == 7)
        #expect(failure.message.contains("127.0.0.1:\(server.port)"))
        #expect(!failure.message.contains("secret"))
        #expect(fetched.head == nil)
    }

    @Test func `an unknown name is a failed look-up`() async throws {
        let fetched = try await Client().fetch("http://nonexistent.invalid/") { $0.connectTimeoutMilliseconds = 20_000 }
        #expect(fetched.failure?.kind == .dns)
        #expect(fetched.failure?.isRetryable == true)
    }

    @Test func `cancelling keeps what came and closes the connection`() async throws {
        var random = RandomBytes(seed: 7)
        let bytes = random.bytes(100_000)
        let server = try ScriptedServer { _ in .file(bytes) { $0.stallAfterByteCount = 50_000 } }
        let client = try Client()
        let result = Task { try await client.fetch(server.url("/"), tag: 3) }
        await client.fetcher.waitForBytes(tag: 3, 50_000)
        await client.fetcher.cancel(tag: 3)
        let fetched = try await result.value
        #expect(fetched.outcome == nil)
        #expect(fetched.body == Array(bytes.prefix(50_000)))
        #expect(await client.fetcher.activeCount == 0)
        // The server stalls until its peer closes: otherwise the test would hang here.
        await server.waitForFinishedAnswers(1)
    }

    @Test func `cancelling a paused transfer lets go of it`() async throws {
        let server = try ScriptedServer { _ in .file([UInt8](repeating: 1, count: 1_000_000)) }
        let client = try Client()
        let result = Task { try await client.fetch(server.url("/"), tag: 1, plan: Fetcher.Plan(bufferCount: 0)) }
        await client.fetcher.waitForPause(tag: 1)
        await client.fetcher.cancel(tag: 1)
        let fetched = try await result.value
        #expect(fetched.outcome == nil)
        #expect(fetched.body.isEmpty)
        #expect(fetched.head?.status == 200)
    }

    @Test func `a loop that stops ends its transfers`() async throws {
        let server = try ScriptedServer { _ in .stall }
        let client = try Client()
        let result = Task { [fetcher = client.fetcher] in
            try await fetcher.fetch(TransferRequest(url: try URLParser.parse(server.url("/"))))
        }
        await server.waitForRequests(1)
        client.loop.stop()
        let fetched = try await result.value
        #expect(fetched.outcome == nil)
    }

    @Test func `transfers one after the other share a connection`() async throws {
        let server = try ScriptedServer { _ in .file(Array("hello".utf8)) }
        let client = try Client()
        var newConnectionCount = 0
        for _ in 0..<20 {
            let fetched = try await client.fetch(server.url("/"))
            #expect(fetched.outcome == .finished)
            newConnectionCount += fetched.metrics.newConnectionCount
        }
        #expect(server.requests.count == 20)
        #expect(server.connectionCount == 1)
        #expect(newConnectionCount == 1)
    }

    @Test func `fifty transfers at once each get their own bytes`() async throws {
        let go = try Signal()
        let server = try ScriptedServer { request in
            var random = RandomBytes(seed: UInt64(request.target.dropFirst()) ?? 0)
            return .file(random.bytes(100_000)) { $0.beforeBody = go }
        }
        let client = try Client()
        try await withThrowingTaskGroup(of: (Int, Fetched).self) { group in
            for tag in 0..<50 {
                group.addTask { (tag, try await client.fetch(server.url("/\(tag)"), tag: tag)) }
            }
            // Bodies are sent only after all requests have arrived, so all fifty run at the same time.
            await server.waitForRequests(50)
            #expect(await client.fetcher.activeCount == 50)
            go.set()
            for try await (tag, fetched) in group {
                var random = RandomBytes(seed: UInt64(tag))
                #expect(fetched.outcome == .finished)
                #expect(fetched.body == random.bytes(100_000))
            }
        }
        #expect(server.connectionCount == 50)
    }

    @Test func `metrics tell of the connection`() async throws {
        let server = try ScriptedServer { _ in .file(Array("hello".utf8)) }
        let metrics = try await Client().fetch(server.url("/")).metrics
        #expect(metrics.statusCode == 200)
        #expect(metrics.httpVersion == 11)
        #expect(metrics.primaryAddress == "127.0.0.1")
        #expect(metrics.connectMicroseconds > 0)
        #expect(metrics.tlsMicroseconds == 0)
        #expect(metrics.firstByteMicroseconds >= metrics.preTransferMicroseconds)
        #expect(metrics.totalMicroseconds >= metrics.firstByteMicroseconds)
    }
}
