import Core
import Curl
import Engine
import Platform
import Store

/// An engine on its loop, with a client that keeps what it hears; the tests' stand-in for the service.
final class EngineHost: Sendable {
    typealias Work = @Sendable (isolated DownloadEngine) -> Void

    private struct Heard {
        var events: [DownloadSnapshot] = []
        var waiters:
            [(
                predicate: @Sendable (DownloadSnapshot) -> Bool,
                continuation: CheckedContinuation<DownloadSnapshot, Never>
            )] = []
    }
    private let engine: DownloadEngine
    private let loop: CurlLoop
    private let thread: Thread
    private let inbox: Mailbox<Work>
    private let heard = Guarded(Heard())
    private let log = Guarded<[String]>([])

    init(state: String, settings: EngineSettings = EngineSettings()) throws {
        let loop = try CurlLoop()
        let log = LogBox()
        let store = try Store(StoreConfiguration(location: .directory(state)), onFirst: { loop.wake() })
        let inbox = try Mailbox<Work>(onFirst: { loop.wake() })
        let box = ClientBox()
        let client = Client(inbox: inbox, box: box)
        let engine = try DownloadEngine(loop: loop, store: store, client: client, log: { log.add($0.message) })
        self.loop = loop
        self.engine = engine
        self.inbox = inbox
        inbox.send { $0.configure(settings) }
        thread = try loop.start(engine)
        box.set { [weak self] in self?.hear($0) }
    }

    /// Ends as a killed process does: without letting go of anything.
    func stop() {
        loop.stop()
        thread.join()
    }

    /// Ends as a process does that was asked to.
    func suspendAndStop() async {
        await withCheckedContinuation { continuation in
            inbox.send { engine in engine.suspendAll { continuation.resume() } }
        }
        stop()
    }

    var events: [DownloadSnapshot] { heard.withLock { $0.events } }

    func start(
        _ url: String,
        path: String? = nil,
        directory: String? = nil,
        id: String? = nil,
        options: DownloadOptions = DownloadOptions(),
        startsPaused: Bool = false
    ) async throws -> StartAnswer {
        let destination: StartRequest.Destination =
            path.map { .file(path: $0) } ?? .directory(path: directory ?? "/nowhere")
        let request = StartRequest(
            id: id, url: url, destination: destination, options: options, startsPaused: startsPaused)
        return try await ask { engine, reply in engine.start(request, reply: reply) }
    }

    @discardableResult
    func perform(
        _ command: DownloadCommand, _ id: String, deletesPartial: Bool = true
    ) async throws -> (download: DownloadSnapshot, isChanged: Bool) {
        let answer: CommandAnswer = try await ask { engine, reply in
            engine.perform(command, on: .one(id), deletesPartial: deletesPartial, reply: reply)
        }
        guard case .one(let download, let isChanged) = answer else { throw UnexpectedAnswer() }
        return (download, isChanged)
    }

    func perform(_ command: DownloadCommand, onAll: Bool) async throws -> (matched: Int, changed: Int) {
        let answer: CommandAnswer = try await ask { engine, reply in
            engine.perform(command, on: .all, deletesPartial: true, reply: reply)
        }
        guard case .several(let matched, let changed, _) = answer else { throw UnexpectedAnswer() }
        return (matched, changed)
    }

    func remove(_ id: String, deletesFile: Bool = false) async throws {
        let _: Bool = try await ask { engine, reply in
            engine.remove(id: id, deletesFile: deletesFile) { reply($0.map { true }) }
        }
    }

    func get(_ id: String) async throws -> DownloadSnapshot {
        try await ask { engine, reply in engine.get(id: id, reply: reply) }
    }

    func list(_ request: ListRequest = ListRequest()) async throws -> ListAnswer {
        try await ask { engine, reply in engine.list(request, reply: reply) }
    }

    func inspect(_ id: String) async throws -> Inspection {
        try await ask { engine, reply in engine.inspect(id: id, reply: reply) }
    }

    func beginYielding() { inbox.send { $0.beginYielding() } }

    func resumeInterrupted() async throws -> Int {
        try await ask { engine, reply in engine.resumeInterrupted(reply: reply) }
    }

    /// The first event, heard or to come, that is as asked.
    func event(_ predicate: @escaping @Sendable (DownloadSnapshot) -> Bool) async -> DownloadSnapshot {
        await withCheckedContinuation { continuation in
            let found = heard.withLock { heard -> DownloadSnapshot? in
                if let event = heard.events.first(where: predicate) { return event }
                heard.waiters.append((predicate, continuation))
                return nil
            }
            if let found { continuation.resume(returning: found) }
        }
    }

    /// The event that tells a download's end.
    func end(_ id: String) async -> DownloadSnapshot { await event { $0.id == id && $0.state.isFinal } }

    /// Asks again and again until the answer is as wanted; for progress, of which no event tells.
    func poll(_ id: String, until predicate: (DownloadSnapshot) -> Bool) async throws -> DownloadSnapshot {
        while true {
            let download = try await get(id)
            if predicate(download) { return download }
            try await Task.sleep(for: .milliseconds(2))
        }
    }

    private func ask<Answer: Sendable>(
        _ body: @escaping @Sendable (isolated DownloadEngine, @escaping (Result<Answer, EngineError>) -> Void) -> Void
    ) async throws -> Answer {
        let result: Result<Answer, EngineError> = await withCheckedContinuation { continuation in
            inbox.send { engine in body(engine) { continuation.resume(returning: $0) } }
        }
        return try result.get()
    }

    private func hear(_ download: DownloadSnapshot) {
        let due = heard.withLock { heard in
            heard.events.append(download)
            let due = heard.waiters.filter { $0.predicate(download) }.map(\.continuation)
            heard.waiters.removeAll { $0.predicate(download) }
            return due
        }
        for continuation in due { continuation.resume(returning: download) }
    }
}

struct UnexpectedAnswer: Error {}

private final class LogBox: Sendable {
    private let lines = Guarded<[String]>([])
    func add(_ line: String) { lines.withLock { $0.append(line) } }
}

/// Where the client finds whom to tell; set once the host exists.
private final class ClientBox: Sendable {
    private let hear = Guarded<(@Sendable (DownloadSnapshot) -> Void)?>(nil)
    private let early = Guarded<[DownloadSnapshot]>([])
    func set(_ body: @escaping @Sendable (DownloadSnapshot) -> Void) { hear.withLock { $0 = body } }
    func tell(_ download: DownloadSnapshot) {
        let body = hear.withLock { $0 }
        body?(download)
    }
}

private final class Client: EngineClient {
    private let inbox: Mailbox<EngineHost.Work>
    private let box: ClientBox

    init(inbox: Mailbox<EngineHost.Work>, box: ClientBox) {
        self.inbox = inbox
        self.box = box
    }

    func turn(_ engine: isolated DownloadEngine) -> Int64? {
        for work in inbox.takeAll() { work(engine) }
        return nil
    }

    func downloadChanged(_ download: DownloadSnapshot, _ engine: isolated DownloadEngine) {
        box.tell(download)
    }
}
