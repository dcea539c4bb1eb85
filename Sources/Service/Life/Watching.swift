internal import Platform

/// The part of `ProcessWatch` that runs on the watch thread.  Isolation: immutable; all state is local to the thread.
final class Watching: Sendable {
    private struct State: ~Copyable {
        /// When the process is ended by force, and with which code.
        var deadline: (time: Int64, code: Int32)?
        var signalCount = 0
        var host: HostProcess?
        var isOutputWatched = true
        /// The session has ended, and the output is being flushed.
        var isEnding = false
    }

    private let inbox: Mailbox<Inbound>
    private let commands: Mailbox<ProcessWatch.Command>
    private let news: ProcessWatch.News
    private let signals: SignalSource
    private let outputDescriptor: Int32
    private let closeDown: @Sendable (Int32) -> Int32

    init(
        inbox: Mailbox<Inbound>,
        commands: Mailbox<ProcessWatch.Command>,
        news: ProcessWatch.News,
        outputDescriptor: Int32,
        closeDown: @escaping @Sendable (Int32) -> Int32
    ) throws(Errno) {
        self.inbox = inbox
        self.commands = commands
        self.news = news
        signals = try SignalSource()
        self.outputDescriptor = outputDescriptor
        self.closeDown = closeDown
    }

    /// The thread's body; never returns.
    func run() {
        var state = State()
        while true {
            obey(&state)
            // `take` depends on this order.
            var requests = [
                PollRequest(news.wakeUp.raw, wantsInput: true),
                PollRequest(signals.raw, wantsInput: true),
                // poll(2) ignores negative descriptors.
                PollRequest(state.isOutputWatched ? outputDescriptor : -1, wantsInput: false),
                PollRequest(state.host?.raw ?? -1, wantsInput: true),
            ]
            waitForNews(&requests, timeoutMilliseconds: timeout(state))
            take(requests, &state)
            if let deadline = state.deadline, monotonicNanoseconds() >= deadline.time {
                endProcess(code: deadline.code)
            }
        }
    }

    private func obey(_ state: inout State) {
        for command in commands.takeAll() {
            switch command {
            case .watch(let host): state.host = host
            case .expectEnd(let code): expectEnd(code: code, &state)
            case .end(let code):
                if state.isEnding { continue }
                state.isEnding = true
                closeDownAndEnd(code: code)
            }
        }
    }

    private func take(_ requests: [PollRequest], _ state: inout State) {
        if requests[0].isReadable { news.wakeUp.drain() }
        if requests[1].isReadable {
            while let signal = signals.next() {
                state.signalCount += 1
                if state.signalCount > 1 { endProcess(code: ExitCode.signal(signal)) }
                expectEnd(code: ExitCode.signal(signal), &state)
                inbox.send(.signal(signal))
            }
        }
        if requests[2].isBroken {
            // Nobody will read the output that is not flushed yet.
            if state.isEnding { endProcess(code: state.deadline?.code ?? ExitCode.noReader) }
            state.isOutputWatched = false
            inbox.send(.outputGone)
        }
        if requests[3].isReadable {
            state.host = nil
            inbox.send(.hostGone)
        }
    }

    private func expectEnd(code: Int32, _ state: inout State) {
        if state.deadline != nil { return }
        state.deadline = (monotonicNanoseconds() + ProcessWatch.patienceNanoseconds, code)
    }

    private func timeout(_ state: borrowing State) -> Int32 {
        guard let deadline = state.deadline else { return -1 }
        let rest = (deadline.time - monotonicNanoseconds()) / 1_000_000 + 1
        return Int32(clamping: max(0, rest))
    }

    /// Runs on another thread, because this one must continue to watch: flushing takes as long as the host takes to
    /// read.
    private func closeDownAndEnd(code: Int32) {
        let closeDown = closeDown
        let thread = try? Thread(name: "end") { endProcess(code: closeDown(code)) }
        if thread == nil { endProcess(code: closeDown(code)) }
    }
}
