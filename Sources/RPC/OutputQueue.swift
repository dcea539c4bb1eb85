package import Platform

/// Writes messages to the host, complete and in order, on its own thread.  Isolation: any thread.
///
/// Sending never waits. The memory that a slow host costs is limited: for events by `OutputBacklog`, for answers by the
/// `Backpressure` that stops the reading of requests.
package final class OutputQueue: Sendable {
    private let writer: OutputWriter
    private let thread: Thread

    /// Starts the writer; it writes nothing until something is sent.
    ///
    /// - Parameters:
    ///   - descriptor: written with blocking calls, and closed at the end. SIGPIPE must be ignored.
    ///   - backpressure: counts the unsent answers.
    ///   - encodeEventsLost: creates the notification for dropped events, from the first and last dropped sequence
    ///     number. Called on the writer thread.
    ///   - onFailure: called once, on the writer thread, when a write has failed; from then on nothing is written.
    package init(
        descriptor: consuming FileDescriptor,
        backpressure: Backpressure,
        encodeEventsLost: @escaping @Sendable (ClosedRange<Int64>) -> [UInt8],
        onFailure: @escaping @Sendable (Errno) -> Void
    ) throws(Errno) {
        let writer = OutputWriter(
            descriptor: descriptor,
            backpressure: backpressure,
            wakeUp: try WakeUp(),
            end: try WakeUp(),
            encodeEventsLost: encodeEventsLost,
            onFailure: onFailure
        )
        self.writer = writer
        thread = try Thread(name: "writer") { writer.run() }
    }

    deinit { writer.beginClosing() }

    /// Sets the framing of later messages; at first it is line framing.
    package func setFraming(_ framing: Framing) {
        writer.update(wakes: false) { $0.framing = framing }
    }

    /// Bytes of unsent answers, including those that are being written.
    package var unsentReplyByteCount: Int { writer.backpressure.byteCount }

    /// Queues an answer, without its framing. It is dropped only after a write failure or `beginClosing`.
    package func sendReply(_ message: [UInt8]) {
        // Before the writer can see the message, so that the count never stays too high.
        writer.backpressure.add(byteCount: message.count)
        let isTaken = writer.update { state in
            if state.takesMessages { state.backlog.addReply(message) }
            return state.takesMessages
        }
        if !isTaken { writer.backpressure.subtract(byteCount: message.count) }
    }

    /// Queues an event, without its framing; when too many are unsent it is dropped and reported as lost.
    ///
    /// - Parameter sequence: its number, for that report; must increase.
    package func sendEvent(_ message: [UInt8], sequence: Int64) {
        writer.update { state in
            if state.takesMessages { state.backlog.addEvent(message, sequence: sequence) }
        }
    }

    /// Queues a progress message, without its framing; replaces an unsent one of the same download.
    package func sendProgress(_ message: [UInt8], id: String) {
        writer.update { state in
            if state.takesMessages { state.backlog.setProgress(message, id: id) }
        }
    }

    /// Drops a download's unsent progress; call it before its final event is sent.
    package func discardProgress(id: String) {
        writer.update(wakes: false) { $0.backlog.discardProgress(id: id) }
    }

    /// Writes what is queued, and drops messages sent from now on.
    package func beginClosing() {
        writer.beginClosing()
    }

    /// Takes no more messages, writes what is queued, and ends the thread; gives up when the time is up.
    ///
    /// A host that does not read can block the writer in its last write forever; the thread then runs until the process
    /// ends.
    ///
    /// - Returns: true if everything was written; false after a failure.
    package func close(timeoutMilliseconds: Int) -> Bool {
        writer.beginClosing()
        let isEnded = writer.waitForEnd(timeoutMilliseconds: timeoutMilliseconds)
        if !isEnded {
            writer.mute()
            return false
        }
        if writer.update({ $0.claimJoin() }) { thread.join() }
        return writer.update { !$0.isMuted }
    }
}
