import Core
import Curl
import Engine
import Glibc
import Platform
import Store
import Testing

/// An engine on its loop, with a client that records all events; it replaces the service in tests.
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
    private let watch: Watch
    /// Answers and events in order of arrival; tests add their answers.
    let trace = Trace()

    /// - Parameter resumeKeyPath: the user's key; by default next to the state directory.
    init(state: String, settings: EngineSettings = EngineSettings(), resumeKeyPath: String? = nil) throws {
        let loop = try CurlLoop()
        let log = LogBox()
        var configuration = StoreConfiguration(location: .directory(state))
        configuration.resumeKeyPath = resumeKeyPath ?? state + "/../resume-key"
        let store = try Store(configuration, onFirst: { loop.wake() })
        let inbox = try Mailbox<Work>(onFirst: { loop.wake() })
        let box = ClientBox()
        let watch = Watch()
        self.watch = watch
        let client = Client(inbox: inbox, box: box, watch: watch)
        let engine = try DownloadEngine(loop: loop, store: store, client: client, log: { log.add($0.message) })
        self.loop = loop
        self.engine = engine
        self.inbox = inbox
        inbox.send { $0.configure(settings) }
        thread = try loop.start(engine)
        box.set { [weak self] in self?.hear($0) }
    }

    /// Ends like a killed process: nothing is released. What has ended before must have released all of its own.
    func stop() {
        for leak in leaks() { Issue.record("\(leak)") }
        loop.stop()
        thread.join()
        for violation in watch.violations { Issue.record("\(violation)") }
    }

    /// What is in use though nobody uses it, once no job is pending; nothing while a transfer runs.
    private func leaks() -> [String] {
        let found = Leaks()
        inbox.send { [inbox] engine in Self.lookForLeaks(engine, inbox, found, turns: 0) }
        for _ in 0..<5_000 {
            if let leaks = found.value { return leaks }
            usleep(1_000)
        }
        return ["the engine did not turn"]
    }

    private static func lookForLeaks(
        _ engine: isolated DownloadEngine, _ inbox: Mailbox<Work>, _ found: Leaks, turns: Int
    ) {
        let use = engine.resourceUse
        // Work that is on its way may hold anything.
        guard use.transfers == 0, use.jobs == 0, use.closingFiles == 0 else {
            if turns == 500 || use.transfers > 0 { return found.set([]) }
            usleep(1_000)
            return inbox.send { engine in lookForLeaks(engine, inbox, found, turns: turns + 1) }
        }
        var leaks: [String] = []
        if use.buffers > 0 { leaks.append("\(use.buffers) buffers are not given back") }
        if use.queueSlots > use.activeDownloads {
            leaks.append("\(use.queueSlots) slots of the queue for \(use.activeDownloads) active downloads")
        }
        if use.finishingFiles > use.activeDownloads { leaks.append("\(use.finishingFiles) files count as finishing") }
        if use.markSlots != use.downloadsWithMarkSlot {
            leaks.append("\(use.markSlots) mark slots for \(use.downloadsWithMarkSlot) downloads")
        }
        if use.openFiles > use.downloads { leaks.append("\(use.openFiles) open files") }
        found.set(leaks)
    }

    /// Runs each piece of work in a turn of its own, one turn after the other.
    func inTurns(_ works: [Work]) {
        guard let first = works.first else { return }
        let rest = Array(works.dropFirst())
        inbox.send { [inbox] engine in
            first(engine)
            if !rest.isEmpty { inbox.send { engine in Self.run(rest, engine, inbox) } }
        }
    }

    private static func run(_ works: [Work], _ engine: isolated DownloadEngine, _ inbox: Mailbox<Work>) {
        guard let first = works.first else { return }
        first(engine)
        let rest = Array(works.dropFirst())
        if !rest.isEmpty { inbox.send { engine in run(rest, engine, inbox) } }
    }

    /// Returns when the engine has suspended; its loop continues.
    func suspend() async {
        await withCheckedContinuation { continuation in
            inbox.send { engine in engine.suspendAll { continuation.resume() } }
        }
    }

    /// Ends like a process that was asked to exit.
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
        startsPaused: Bool = false,
        resumeData: ResumeData? = nil
    ) async throws -> StartAnswer {
        let destination: StartRequest.Destination =
            path.map { .file(path: $0) } ?? .directory(path: directory ?? "/nowhere")
        let request = StartRequest(
            id: id, url: url, destination: destination, options: options, startsPaused: startsPaused,
            resumeData: resumeData)
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

    func export(_ id: String) async throws -> String {
        try await ask { engine, reply in engine.exportResumeData(id: id, reply: reply) }
    }

    func update(_ id: String, _ update: DownloadUpdate) async throws -> DownloadSnapshot {
        try await ask { engine, reply in engine.update(id: id, update, reply: reply) }
    }

    func beginYielding() { inbox.send { $0.beginYielding() } }

    func resumeInterrupted() async throws -> Int {
        try await ask { engine, reply in engine.resumeInterrupted(reply: reply) }
    }

    /// The first event, past or future, that matches.
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

    /// The event of a download's end.
    func end(_ id: String) async -> DownloadSnapshot { await event { $0.id == id && $0.state.isFinal } }

    /// Polls until the answer is as wanted; for progress, which has no events here.
    func poll(_ id: String, until predicate: (DownloadSnapshot) -> Bool) async throws -> DownloadSnapshot {
        while true {
            let download = try await get(id)
            if predicate(download) { return download }
            try await Task.sleep(for: .milliseconds(2))
        }
    }

    func ask<Answer: Sendable>(
        _ body: @escaping @Sendable (isolated DownloadEngine, @escaping (Result<Answer, EngineError>) -> Void) -> Void
    ) async throws -> Answer {
        let result: Result<Answer, EngineError> = await withCheckedContinuation { continuation in
            inbox.send { engine in body(engine) { continuation.resume(returning: $0) } }
        }
        return try result.get()
    }

    private func hear(_ download: DownloadSnapshot) {
        trace.add("event \(download.id) \(download.state)")
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

/// What a look for leaks has found; nil before it has ended.
private final class Leaks: Sendable {
    private let found = Guarded<[String]?>(nil)
    var value: [String]? { found.withLock { $0 } }
    func set(_ leaks: [String]) { found.withLock { $0 = leaks } }
}

private final class LogBox: Sendable {
    private let lines = Guarded<[String]>([])
    func add(_ line: String) { lines.withLock { $0.append(line) } }
}

/// The receiver of events; set once the host exists.
private final class ClientBox: Sendable {
    /// Not the closure itself: a closure that passes through a generic type is wrapped again each time.
    private final class Hearer: Sendable {
        let hear: @Sendable (DownloadSnapshot) -> Void
        init(_ hear: @escaping @Sendable (DownloadSnapshot) -> Void) { self.hear = hear }
    }
    private let hearer = Guarded<Hearer?>(nil)
    func set(_ body: @escaping @Sendable (DownloadSnapshot) -> Void) {
        let new = Hearer(body)
        hearer.withLock { $0 = new }
    }
    func tell(_ download: DownloadSnapshot) {
        let hearer = hearer.withLock { $0 }
        hearer?.hear(download)
    }
}

/// Checks rules that must hold for every download at all times, in every test.  Isolation: any thread.
private final class Watch: Sendable {
    private struct Seen {
        var attempt: Int
        var receivedByteCount: Int64
    }
    private struct State {
        var seen: [String: Seen] = [:]
        var finals: [String: DownloadState] = [:]
        var violations: [String] = []
    }
    private let state = Guarded(State())

    var violations: [String] { state.withLock { $0.violations } }

    /// Within an attempt, received bytes never decrease; attempts never decrease. Events are delayed, so they are
    /// checked separately.
    func look(_ download: DownloadSnapshot, from source: String) {
        let key = "\(source) \(download.id)"
        state.withLock { state in
            if let seen = state.seen[key] {
                let falls = download.receivedByteCount < seen.receivedByteCount
                if download.attempt < seen.attempt || (download.attempt == seen.attempt && falls) {
                    state.violations.append(
                        "\(key), \(download.state): attempt \(seen.attempt) with \(seen.receivedByteCount) bytes,"
                            + " then attempt \(download.attempt) with \(download.receivedByteCount)")
                }
            }
            state.seen[key] = Seen(attempt: download.attempt, receivedByteCount: download.receivedByteCount)
        }
    }

    /// After the end only a revival, or the change of an update, is reported.
    func hear(_ download: DownloadSnapshot) {
        state.withLock { state in
            if let end = state.finals[download.id], download.state != .queued, download.state != end {
                state.violations.append("\(download.id): \(download.state) was told after its end")
            }
            state.finals[download.id] = download.state.isFinal ? download.state : nil
        }
    }
}

private final class Client: EngineClient {
    private let inbox: Mailbox<EngineHost.Work>
    private let box: ClientBox
    private let watch: Watch

    init(inbox: Mailbox<EngineHost.Work>, box: ClientBox, watch: Watch) {
        self.inbox = inbox
        self.box = box
        self.watch = watch
    }

    func turn(_ engine: isolated DownloadEngine) -> Int64? {
        let heldIDs = engine.heldIDs
        if heldIDs.count < 100 {
            for id in heldIDs { engine.snapshot(id: id).map { watch.look($0, from: "state of") } }
        }
        for work in inbox.takeAll() { work(engine) }
        return nil
    }

    func downloadRemoved(id: String, revision: Int64, _ engine: isolated DownloadEngine) {}

    func downloadChanged(_ download: DownloadSnapshot, isUpdate: Bool, _ engine: isolated DownloadEngine) {
        watch.look(download, from: "event of")
        watch.hear(download)
        box.tell(download)
    }
}
