package import Platform

/// The host's process, held on to from the moment its id was given: one that ends before the watch thread looks is missed
/// by nobody, and no other process is taken for it.  Isolation: any thread.
package final class HostProcess: Sendable {
    private let handle: ProcessHandle
    /// For poll(2).
    var raw: Int32 { handle.raw }

    /// Nil when there is no such process now.
    package init?(processID: Int64) {
        guard let handle = ProcessHandle(processID: processID) else { return nil }
        self.handle = handle
    }
}

/// Watches what can end the process from outside, and ends it: signals, the host's process, the reader of our output.
///
/// Isolation: any thread; the watching is done by a thread of its own. It ends the process in time even if the
/// session does not: at most 1.5 s after the first signal, at once after the second.
package final class ProcessWatch: Sendable {
    /// How long the session has from the first signal, or from `expectEnd`, until it must have ended.
    package static let patienceNanoseconds: Int64 = 1_400_000_000

    enum Command: Sendable {
        case watch(HostProcess)
        case expectEnd(code: Int32)
        case end(code: Int32)
    }

    /// Something for the mailbox's hook to hold: a noncopyable value cannot be captured.
    final class News: Sendable {
        let wakeUp: WakeUp

        init() throws(Errno) { wakeUp = try WakeUp() }
    }

    private let commands: Mailbox<Command>

    /// Starts watching; the signals must be blocked by now.
    ///
    /// - Parameters:
    ///   - inbox: where the session hears of it.
    ///   - outputDescriptor: standard output; it must stay open as long as the process lives.
    ///   - host: the host's process, if it is known.
    ///   - closeDown: ends all threads and flushes the output, and says with what code the process ends then: the one
    ///     it is given, or a worse one. Called on a thread of its own, which is not waited for once time is up.
    package init(
        inbox: Mailbox<Inbound>,
        outputDescriptor: Int32,
        host: HostProcess?,
        closeDown: @escaping @Sendable (Int32) -> Int32
    ) throws(Errno) {
        let news = try News()
        commands = try Mailbox(onFirst: { news.wakeUp.signal() })
        let watching = try Watching(
            inbox: inbox,
            commands: commands,
            news: news,
            outputDescriptor: outputDescriptor,
            closeDown: closeDown
        )
        if let host { watch(host) }
        _ = try Thread(name: "watch") { watching.run() }
    }

    /// Tells the session when this process has ended.
    package func watch(_ host: HostProcess) { commands.send(.watch(host)) }

    /// The session is about to end: the process ends with this code even if the session gets stuck.
    package func expectEnd(code: Int32) { commands.send(.expectEnd(code: code)) }

    /// The session has ended.
    package func end(code: Int32) { commands.send(.end(code: code)) }
}
