import Core
import Engine
import Platform
import TestSupport
import Testing

/// Targets of redirects, and which headers are sent there.
@Suite(.timeLimit(.minutes(1)))
struct RedirectTests {
    let directory: TemporaryDirectory
    var state: String { directory.path("state") }
    var path: String { directory.path("file.bin") }
    let bytes = randomBytes(300_000)

    init() throws {
        directory = try TemporaryDirectory()
    }

    private let secrets = [
        HeaderField("X-Api-Key", "secret"), HeaderField("Authorization", "Bearer secret"),
        HeaderField("Cookie", "id=secret"), HeaderField("Accept-Language", "de"),
    ]

    @Test func `a relative redirect keeps the headers and the credentials of the URL`() async throws {
        let bytes = bytes
        let server = try ScriptedServer { request in
            switch request.path {
            case "/a/b": .redirect(to: "../c?d=e")
            default: .file(bytes, etag: "\"v\"")
            }
        }
        let host = try EngineHost(state: state)
        defer { host.stop() }
        let url = "http://user:pass@127.0.0.1:\(server.port)/a/b"
        let options = quick { $0.headers = [HeaderField("X-Api-Key", "secret")] }
        let id = try await host.start(url, path: path, options: options).download.id
        let end = await host.end(id)
        #expect(end.state == .completed)
        #expect(end.finalURL?.hasPrefix("http://127.0.0.1:\(server.port)/c") == true)
        let last = try #require(server.requests.last)
        #expect(last.target == "/c?d=e")
        #expect(last.value("X-Api-Key") == "secret")
        #expect(last.value("Authorization") == "Basic dXNlcjpwYXNz")
    }

    @Test func `secrets stay with their origin, and do not come back to it`() async throws {
        let bytes = bytes
        let port = Guarded<UInt16>(0)
        let other = try ScriptedServer { _ in .redirect(to: "http://127.0.0.1:\(port.withLock { $0 })/last") }
        let otherURL = other.url("/other")
        let server = try ScriptedServer { request in
            request.path == "/first" ? .redirect(to: otherURL) : .file(bytes, etag: "\"v\"")
        }
        port.withLock { [value = server.port] in $0 = value }
        let host = try EngineHost(state: state)
        defer { host.stop() }
        let secrets = secrets
        let options = quick { $0.headers = secrets }
        let id = try await host.start(server.url("/first"), path: path, options: options).download.id
        #expect(await host.end(id).state == .completed)
        #expect(server.requests[0].value("X-Api-Key") == "secret")
        for request in [try #require(other.requests.first), server.requests[1]] {
            for name in ["X-Api-Key", "Authorization", "Cookie"] { #expect(request.value(name) == nil) }
            #expect(request.value("Accept-Language") == "de")
        }
    }

    @Test func `a redirect's cookies go where their host and path say, beside the caller's own`() async throws {
        let bytes = bytes
        let port = Guarded<UInt16>(0)
        let other = try ScriptedServer { _ in
            let location = "http://127.0.0.1:\(port.withLock { $0 })/last"
            return .status(302, fields: [("Location", location), ("Set-Cookie", "b=2; Path=/other")])
        }
        let otherURL = other.url("/other")
        let server = try ScriptedServer { request in
            request.path == "/first"
                ? .status(302, fields: [("Location", otherURL), ("Set-Cookie", "a=1; HttpOnly")])
                : .file(bytes, etag: "\"v\"")
        }
        port.withLock { [value = server.port] in $0 = value }
        let host = try EngineHost(state: state)
        defer { host.stop() }
        let options = quick { $0.headers = [HeaderField("Cookie", "own=0")] }
        let id = try await host.start(server.url("/first"), path: path, options: options).download.id
        #expect(await host.end(id).state == .completed)
        #expect(server.requests.first?.value("Cookie") == "own=0")
        // A cookie does not depend on the port (RFC 6265, 8.5), but an origin does, and with it the caller's own
        // cookies.
        #expect(other.requests.first?.value("Cookie") == "a=1")
        #expect(server.requests.last?.value("Cookie") == "a=1")
    }

    @Test(arguments: ["file:///etc/passwd", "ftp://127.0.0.1/x", "javascript:1", "http://", "gopher://x/"])
    func `a redirect to anything but http ends the download`(location: String) async throws {
        let server = try ScriptedServer { _ in .redirect(to: location) }
        let host = try EngineHost(state: state)
        defer { host.stop() }
        let id = try await host.start(server.url("/x"), path: path, options: quick()).download.id
        #expect(await host.end(id).failure?.kind == .redirectDenied)
        #expect(server.requests.count == 1)
        #expect(try directory.entries() == ["state"])
    }

    @Test func `a loop ends after the limit`() async throws {
        let server = try ScriptedServer { _ in .redirect(to: "/again") }
        let host = try EngineHost(state: state)
        defer { host.stop() }
        let id = try await host.start(server.url("/x"), path: path, options: quick()).download.id
        #expect(await host.end(id).failure?.kind == .tooManyRedirects)
        #expect(server.requests.count == Limits.redirectCount + 1)
    }

    @Test func `a resume begins at the original URL`() async throws {
        let bytes = bytes
        let server = try ScriptedServer { request in
            if request.path == "/start" { return .redirect(to: "/signed-\(request.occurrence)") }
            return .file(bytes, etag: "\"v\"") { if request.path == "/signed-0" { $0.dropAfterByteCount = 200_000 } }
        }
        let host = try EngineHost(state: state)
        defer { host.stop() }
        let id = try await host.start(server.url("/start"), path: path, options: quick()).download.id
        let end = await host.end(id)
        #expect(end.state == .completed)
        #expect(end.transfer?.mode == .resumed)
        #expect(server.requests.map(\.path) == ["/start", "/signed-0", "/start", "/signed-1"])
        #expect(contents(path) == bytes)
    }
}
