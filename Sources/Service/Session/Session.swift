internal import Core
package import Engine
internal import JSON
package import Platform
package import RPC

/// One host's conversation with the engine: takes its messages, answers them, tells it what happens.
///
/// Isolation: made on the main thread and given away; from then on inside the engine, on the loop thread.
package final class Session: EngineClient {
    let configuration: SessionConfiguration
    let log: Log
    private let inbox: Mailbox<Inbound>
    let output: OutputQueue
    /// Counts the requests that were read and are not answered yet, and the answers that are not read, so that the reader
    /// does not run away.
    private let room: Backpressure
    let watch: ProcessWatch

    var name: String { configuration.name }
    let startedAt = monotonicNanoseconds()

    /// What `start` falls back on.
    var defaults = DownloadOptions()
    var progressIntervalMilliseconds = Parameter.progressIntervalMilliseconds
    var eventSelection = EventSelection.all

    /// The number of the last `changed` event.
    var seq: Int64 = 0
    var downloads = FollowedDownloads()
    var subscriptions = Subscriptions()
    var pacer = ProgressPacer()
    var nextSweepAt: Int64 = 0
    var waits = WaitList()
    var looks = Looks()
    var poller = Poller()

    var life: LifeCycle
    var leaving = Leaving()
    /// Requests in the engine's hands; waits are not counted.
    var pendingCount = 0
    /// Starts among them that may make a download which goes on without its host.
    var pendingBackgroundCount = 0
    var hasBackground: Bool { pendingBackgroundCount > 0 || downloads.hasUnsettledBackground }
    /// A request got an error.
    var hasFailed = false
    /// Answers that wait until the host has read others.
    var deferredAnswers: [(Session) -> Void] = []
    static let roomPollNanoseconds: Int64 = 20_000_000
    var hasRoom: Bool { room.byteCount < Backpressure.maximumByteCount }
    private var isNudged = false
    private var hasBegun = false

    /// Makes a session that takes its messages from `inbox`; nothing happens before the first turn.
    ///
    /// - Parameter room: what the reader waits for when too much is asked and not answered, or answered and not read.
    package init(
        configuration: SessionConfiguration,
        log: Log,
        inbox: Mailbox<Inbound>,
        output: OutputQueue,
        room: Backpressure,
        watch: ProcessWatch
    ) {
        self.configuration = configuration
        self.log = log
        self.inbox = inbox
        self.output = output
        self.room = room
        self.watch = watch
        life = LifeCycle(policy: configuration.hostExitPolicy)
    }

    var isInitialized: Bool { life.isInitialized }

    /// See `EngineClient`.
    package func turn(_ engine: isolated DownloadEngine) -> Int64? {
        begin(engine)
        isNudged = false
        for message in inbox.takeAll() { receive(message, engine) }
        let now = monotonicNanoseconds()
        let times = [
            sweepProgress(now: now, engine), expireWaits(now: now, engine), pollOthers(now: now, engine),
            checkLife(now: now, engine), sendDeferredAnswers(now: now),
        ]
        return times.compactMap { $0 }.min()
    }

    /// Asks for another turn soon: something happened between two.
    func nudge() {
        if isNudged { return }
        isNudged = true
        inbox.send(.nudge)
    }

    private func begin(_ engine: isolated DownloadEngine) {
        if hasBegun { return }
        hasBegun = true
        if configuration.resumesOnStart { resumeInterrupted(engine) {} }
    }

    private func receive(_ message: Inbound, _ engine: isolated DownloadEngine) {
        switch message {
        case .incoming(let incoming, let byteCount): receive(incoming, byteCount: byteCount, engine)
        case .messageTooLong: send(Response(id: .null, error: .messageTooLarge))
        case .framing(let framing): life.useFraming(framing)
        case .nudge: break
        case .unframeable, .endOfInput, .inputFailed, .signal, .hostGone, .outputGone, .outputFailed:
            receiveFate(message, engine)
        }
    }

    /// Gives back the room that a message took among those being worked on.
    func release(byteCount: Int) {
        room.subtract(byteCount: byteCount)
    }

    /// Sends an answer that belongs to no batch.
    func send(_ response: Response) {
        if case .failure = response.outcome { hasFailed = true }
        output.sendReply(response.encoded())
    }
}
