package import Platform

/// The host's process. A handle is opened as soon as its id is known: so an early exit is not missed, and a reused id
/// is not mistaken for it.  Isolation: any thread.
package final class HostProcess: Sendable {
    private let handle: ProcessHandle
    /// For poll(2).
    var raw: Int32 { handle.raw }

    /// Nil if there is no such process now.
    package init?(processID: Int64) {
        guard let handle = ProcessHandle(processID: processID) else { return nil }
        self.handle = handle
    }
}

/// Watches for events that end the process (signals, the host's exit, a closed output), and ends it.
///
/// Isolation: any thread; a separate thread watches. It ends the process in time even if the session does not: at most
/// 1.5 s after the first signal, at once after the second.
package final class ProcessWatch: Sendable {
    /// How long the session may run after the first signal, or after `expectEnd`.
    package static let patienceNanoseconds: Int64 = 1_400_000_000

    enum Command: Sendable {
        case watch(HostProcess)
        case expectEnd(code: Int32)
        case end(code: Int32)
    }

    /// Lets the hook of the mailbox capture it, because a noncopyable value cannot be captured.
    final class News: Sendable {
        let wakeUp: WakeUp

        init() throws(Errno) { wakeUp = try WakeUp() }
    }

    private let commands: Mailbox<Command>

    /// Starts watching; the signals must already be blocked.
    ///
    /// - Parameters:
    ///   - inbox: receives the events for the session.
    ///   - outputDescriptor: standard output; it must stay open as long as the process lives.
    ///   - host: the host's process, if known.
    ///   - closeDown: ends all threads, flushes the output, and returns the exit code: the given one, or a worse one.
    ///     Called on a separate thread, which is abandoned when time is up.
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

    /// Reports the exit of this process to the session.
    package func watch(_ host: HostProcess) { commands.send(.watch(host)) }

    /// The session is about to end: the process ends with this code even if the session hangs.
    package func expectEnd(code: Int32) { commands.send(.expectEnd(code: code)) }

    /// The session has ended.
    package func end(code: Int32) { commands.send(.end(code: code)) }
}
