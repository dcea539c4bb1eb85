import Core
import Engine
import Platform
import TestSupport
import Testing

/// The order of answers and events of the engine.
@Suite(.timeLimit(.minutes(1)))
struct OrderTests {
    let directory: TemporaryDirectory
    var state: String { directory.path("state") }

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func request(_ url: String, _ id: String, startsPaused: Bool = false) -> StartRequest {
        StartRequest(
            id: id, url: url, destination: .file(path: directory.path(id)), options: quick(), startsPaused: startsPaused
        )
    }

    @Test func `answers come in the order of the requests, each before what it caused`() async throws {
        let signal = try Signal()
        defer { signal.set() }
        let bytes = randomBytes(500_000)
        let server = try ScriptedServer { _ in .file(bytes, etag: "\"v\"") { $0.middle = (400_000, signal) } }
        let host = try EngineHost(state: state)
        defer { host.stop() }
        for id in ["a", "b"] {
            _ = try await host.start(server.url("/\(id)"), path: directory.path(id), id: id)
            _ = try await host.poll(id) { $0.receivedByteCount == 400_000 }
        }
        let done = try Signal()
        let trace = host.trace
        trace.clear()
        let url = server.url("/c")
        let third = request(url, "c")
        let conflicting = request(server.url("/other"), "a")
        let unusable = request("gopher://x/", "d")
        // All in one turn: the pauses wait for the disk, the others need not.
        host.inTurns([
            { engine in
                func tell(_ name: String) -> (Result<CommandAnswer, EngineError>) -> Void {
                    { result in trace.add("\(name) \((try? result.get()) != nil)") }
                }
                engine.perform(.pause, on: .one("a"), deletesPartial: true, reply: tell("1"))
                engine.start(third) { result in trace.add("2 \((try? result.get()) != nil)") }
                engine.start(unusable) { result in trace.add("3 \((try? result.get()) != nil)") }
                engine.start(conflicting) { result in trace.add("4 \((try? result.get()) != nil)") }
                engine.perform(.resume, on: .one("nobody"), deletesPartial: true, reply: tell("5"))
                engine.perform(.pause, on: .one("b"), deletesPartial: true, reply: tell("6"))
                engine.perform(.resume, on: .one("a"), deletesPartial: true, reply: tell("7"))
                engine.perform(.cancel, on: .one("b"), deletesPartial: true, reply: tell("8"))
                engine.perform(.cancel, on: .one("a"), deletesPartial: true) { _ in
                    trace.add("9")
                    done.set()
                }
            }
        ])
        await done.wait()
        _ = await host.end("a")
        let told = trace.all
        #expect(
            told.filter { !$0.hasPrefix("event") }
                == ["1 true", "2 true", "3 false", "4 false", "5 false", "6 true", "7 true", "8 true", "9"])
        func place(_ entry: String) throws -> Int { try #require(told.firstIndex(of: entry), "\(told)") }
        #expect(try place("1 true") < place("event a paused"))
        #expect(try place("2 true") < place("event c queued"))
        #expect(try place("6 true") < place("event b paused"))
        #expect(try place("7 true") < place("event a queued"))
        #expect(try place("8 true") < place("event b canceled"))
        #expect(try place("9") < place("event a canceled"))
    }

    @Test func `a list sees every request before it`() async throws {
        let server = try ScriptedServer { _ in .stall }
        let host = try EngineHost(state: state)
        defer { host.stop() }
        let requests = (0..<50).map { request(server.url("/\($0)"), "d\($0)", startsPaused: true) }
        let answer: ListAnswer = try await host.ask { engine, reply in
            for request in requests { engine.start(request) { _ in } }
            engine.perform(.cancel, on: .one("d7"), deletesPartial: true) { _ in }
            engine.remove(id: "d7", deletesFile: false) { _ in }
            engine.perform(.cancel, on: .one("d8"), deletesPartial: true) { _ in }
            engine.list(ListRequest(limit: 100), reply: reply)
        }
        #expect(answer.entries.count == 49)
        #expect(answer.entries.first { $0.download.id == "d8" }?.download.state == .canceled)
    }

    @Test func `taking over is answered before it is told`() async throws {
        let server = try ScriptedServer { _ in .stall }
        let first = try EngineHost(state: state)
        let id = try await first.start(server.url("/f"), path: directory.path("f"), id: "f").download.id
        first.stop()
        let host = try EngineHost(state: state)
        defer { host.stop() }
        let trace = host.trace
        let again = request(server.url("/f"), "f")
        let done = try Signal()
        host.inTurns([
            { engine in
                engine.start(again) { _ in
                    trace.add("answer")
                    done.set()
                }
            }
        ])
        await done.wait()
        _ = await host.event { $0.id == id && $0.state == .active }
        #expect(Array(trace.all.prefix(2)) == ["answer", "event f queued"])
    }

    @Test func `resuming what was interrupted is answered before it is told`() async throws {
        let server = try ScriptedServer { _ in .stall }
        let first = try EngineHost(state: state)
        for id in ["a", "b"] { _ = try await first.start(server.url("/\(id)"), path: directory.path(id), id: id) }
        first.stop()
        let host = try EngineHost(state: state)
        defer { host.stop() }
        let trace = host.trace
        let count: Int = try await host.ask { engine, reply in
            engine.resumeInterrupted { result in
                trace.add("answer")
                reply(result)
            }
        }
        #expect(count == 2)
        _ = await host.event { $0.id == "b" && $0.state == .active }
        #expect(trace.all.first == "answer")
    }

    @Test func `ten thousand requests that are answered on the spot are answered in order`() async throws {
        let host = try EngineHost(state: state)
        defer { host.stop() }
        let path = directory.path("f")
        let answers = Guarded<[Int]>([])
        let _: Bool = try await host.ask { engine, reply in
            for index in 0..<10_000 {
                let request = StartRequest(url: "gopher://x/", destination: .file(path: path))
                engine.start(request) { _ in answers.withLock { $0.append(index) } }
            }
            engine.afterEarlierRequests { reply(.success(true)) }
        }
        #expect(answers.withLock { $0 } == Array(0..<10_000))
    }

    @Test func `all of very many downloads are paused, resumed and canceled at once`() async throws {
        let count = 5_000
        let host = try EngineHost(state: state, settings: settings(maxActive: 0))
        defer { host.stop() }
        let directory = directory
        let _: Bool = try await host.ask { engine, reply in
            for index in 0..<count {
                let request = StartRequest(
                    url: "http://127.0.0.1:1/\(index)", destination: .file(path: directory.path("f\(index)")))
                engine.start(request) { _ in }
            }
            engine.afterEarlierRequests { reply(.success(true)) }
        }
        #expect(try await host.perform(.pause, onAll: true) == (count, count))
        #expect(try await host.perform(.pause, onAll: true) == (count, 0))
        #expect(try await host.perform(.resume, onAll: true) == (count, count))
        #expect(try await host.perform(.cancel, onAll: true) == (count, count))
    }

    @Test func `a request made from within an answer is not left waiting`() async throws {
        let host = try EngineHost(state: state)
        defer { host.stop() }
        // If each waited for the longest sleep of the loop, a second, the time limit would be exceeded.
        let _: Bool = try await host.ask { engine, reply in Self.ask(200, engine, reply) }
    }

    private static func ask(
        _ count: Int, _ engine: isolated DownloadEngine, _ reply: @escaping (Result<Bool, EngineError>) -> Void
    ) {
        engine.afterEarlierRequests {
            if count == 0 { return reply(.success(true)) }
            ask(count - 1, engine, reply)
        }
    }
}
