import Core
import TestSupport
import Testing

struct ResponseHeadTests {
    /// The head that results from these bytes.
    private func head(of response: String) async throws -> ResponseHead? {
        try await head(of: Array(response.utf8))
    }

    private func head(of response: [UInt8]) async throws -> ResponseHead? {
        let server = try ScriptedServer { _ in .raw(response) }
        return try await Client().fetch(server.url("/")).head
    }

    @Test func `status, version and fields are kept in order, values trimmed`() async throws {
        let head = try await head(of: "HTTP/1.0 404 Not Found\r\nA:  1 \t\r\nb:\r\nContent-Length: 0\r\n\r\n")
        #expect(head?.status == 404)
        #expect(head?.httpVersion == 10)
        #expect(head?.fields == [.init("A", "1"), .init("b", ""), .init("Content-Length", "0")])
    }

    @Test func `interim responses are skipped`() async throws {
        let interim = "HTTP/1.1 100 Continue\r\nX: 1\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n"
        let head = try await head(of: interim + "HTTP/1.1 200 OK\r\nY: 2\r\nContent-Length: 0\r\n\r\n")
        #expect(head?.status == 200)
        #expect(head?.fields == [.init("Y", "2"), .init("Content-Length", "0")])
    }

    @Test(arguments: ["5\r\nhello\r\n0\r\n", "0\r\n"])
    func `trailers are ignored`(_ chunks: String) async throws {
        let start = "HTTP/1.1 200 OK\r\nETag: \"a\"\r\nTransfer-Encoding: chunked\r\n\r\n"
        let head = try await head(of: start + chunks + "ETag: \"b\"\r\nHTTP/1.1 500 No\r\n\r\n")
        #expect(head?.status == 200)
        #expect(head?.values("etag") == ["\"a\""])
    }

    @Test func `duplicates are all kept`() async throws {
        let head = try await head(of: "HTTP/1.1 200 OK\r\nETag: \"a\"\r\netag: \"b\"\r\nContent-Length: 0\r\n\r\n")
        #expect(head?.values("ETag") == ["\"a\"", "\"b\""])
    }

    @Test func `bytes that are not UTF-8 read as Latin-1`() async throws {
        let start = Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nU: ".utf8)
        let head = try await head(of: start + "é".utf8 + Array("\r\nL: ".utf8) + [0xe9, 0x22] + Array("\r\n\r\n".utf8))
        #expect(head?.value("u") == "é")
        #expect(head?.value("l") == "é\"")
    }

    @Test func `a folded line continues its field`() async throws {
        let head = try await head(of: "HTTP/1.1 200 OK\r\nA: 1\r\n  2\r\nContent-Length: 0\r\n\r\n")
        #expect(head?.value("A") == "1 2")
    }

    @Test func `dates are parsed where they are dates`() async throws {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        let fields = "Date: \(date)\r\nLast-Modified: yesterday\r\nRetry-After: \(date)\r\nContent-Length: 0"
        let head = try await head(of: "HTTP/1.1 503 Busy\r\n\(fields)\r\n\r\n")
        #expect(head?.dateSeconds == 784_111_777)
        #expect(head?.lastModifiedSeconds == nil)
        #expect(head?.retryAfterDateSeconds == 784_111_777)
    }

    @Test func `a redirect is not followed`() async throws {
        let server = try ScriptedServer { _ in .redirect(to: "/elsewhere") }
        let fetched = try await Client().fetch(server.url("/"))
        #expect(fetched.head?.status == 302)
        #expect(fetched.head?.value("location") == "/elsewhere")
        #expect(server.requests.map(\.target) == ["/"])
    }

    @Test(arguments: [
        ("one line", "X: " + String(repeating: "x", count: 200_000) + "\r\n"),
        ("many lines", String(repeating: "X: y\r\n", count: 1_001)),
        ("many bytes", String(repeating: "X: " + String(repeating: "x", count: 5_000) + "\r\n", count: 70)),
    ])
    func `a header bomb fails as such`(_ name: String, _ fields: String) async throws {
        let server = try ScriptedServer { _ in .raw("HTTP/1.1 200 OK\r\n\(fields)Content-Length: 0\r\n\r\n") }
        let fetched = try await Client().fetch(server.url("/"))
        #expect(fetched.failure?.kind == .headersTooLarge, "\(name)")
        #expect(fetched.failure?.isRetryable == false)
        #expect(fetched.head == nil)
    }

    @Test func `an endless row of interim responses fails as a header bomb`() async throws {
        let interim = String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 20_000)
        let server = try ScriptedServer { _ in .raw(interim + "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") }
        #expect(try await Client.fetchOnce(server.url("/")).failure?.kind == .headersTooLarge)
    }

    @Test(arguments: ["hello\r\n\r\n", "HTTP/1.1 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nA: \u{0}\r\n\r\n"])
    func `what is not HTTP fails as a protocol error`(_ response: String) async throws {
        let server = try ScriptedServer { _ in .raw(response) }
        #expect(try await Client.fetchOnce(server.url("/")).failure?.kind == .protocol)
    }
}
