internal import Core
package import Engine
internal import JSON
package import Platform
package import RPC

/// The connection of one host to the engine: receives messages, answers them, sends events.
///
/// Isolation: made on the main thread and then passed to the engine; from then on used only on the loop thread.
package final class Session: EngineClient {
    let configuration: SessionConfiguration
    let log: Log
    private let inbox: Mailbox<Inbound>
    let output: OutputQueue
    /// Counts requests that are not answered yet, and answers that are not read yet, so that the reader can pause.
    private let room: Backpressure
    let watch: ProcessWatch

    var name: String { configuration.name }
    let startedAt = monotonicNanoseconds()

    /// The defaults for `start`.
    var defaults = DownloadOptions()
    var progressIntervalMilliseconds = Parameter.progressIntervalMilliseconds
    var eventSelection = EventSelection.all

    /// The number of the last `changed` or `removed` event.
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
    /// Requests that the engine processes now; waits are not counted.
    var pendingCount = 0
    /// Pending `start` requests with `background`.
    var pendingBackgroundCount = 0
    var hasBackground: Bool { pendingBackgroundCount > 0 || downloads.hasUnsettledBackground }
    /// A request failed.
    var hasFailed = false
    /// Answers that are deferred until the host has read others.
    var deferredAnswers: [(Session) -> Void] = []
    static let roomPollNanoseconds: Int64 = 20_000_000
    var hasRoom: Bool { room.byteCount < Backpressure.maximumByteCount }
    private var isNudged = false
    private var hasBegun = false

    /// Makes a session that receives its messages from `inbox`; it does nothing before the first turn.
    ///
    /// - Parameter room: makes the reader pause when too much is unanswered or unread.
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

    /// Requests another turn soon, because something happened outside of a turn.
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

    /// Releases the bytes that a message reserved.
    func release(byteCount: Int) {
        room.subtract(byteCount: byteCount)
    }

    /// Sends an answer that is not part of a batch.
    func send(_ response: Response) {
        if case .failure = response.outcome { hasFailed = true }
        output.sendReply(response.encoded())
    }
}
