package import Platform

/// Writes messages to the host, whole and in order, on a thread of its own.  Isolation: any thread.
///
/// Nobody who sends ever waits. What a slow host costs is bounded: see `OutputBacklog`; answers are bounded by the
/// `Backpressure` that keeps requests from being read.
package final class OutputQueue: Sendable {
    private let writer: OutputWriter
    private let thread: Thread

    /// Starts the writer; it writes nothing until something is sent.
    ///
    /// - Parameters:
    ///   - descriptor: written to with blocking calls, and closed at the end. SIGPIPE must be ignored.
    ///   - backpressure: counts the answers that wait here.
    ///   - encodeEventsLost: makes the notification that stands in the place of dropped events, from the first and last
    ///     dropped sequence number. Called on the writer thread.
    ///   - onFailure: called once, on the writer thread, when a write has failed; from then on the queue is mute.
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

    /// How messages are framed from now on: line framing until told otherwise.
    package func setFraming(_ framing: Framing) {
        writer.update(wakes: false) { $0.framing = framing }
    }

    /// Bytes of answers that are not yet written, those just being written included.
    package var unsentReplyByteCount: Int { writer.backpressure.byteCount }

    /// Queues an answer, without its frame. Only a failure drops it, and `beginClosing` what comes after.
    package func sendReply(_ message: [UInt8]) {
        // Before the writer can see it, so that the count never stays too high.
        writer.backpressure.add(byteCount: message.count)
        let isTaken = writer.update { state in
            if state.takesMessages { state.backlog.addReply(message) }
            return state.takesMessages
        }
        if !isTaken { writer.backpressure.subtract(byteCount: message.count) }
    }

    /// Queues an event, without its frame, that is dropped, and announced as lost, when too many wait.
    ///
    /// - Parameter sequence: its number, for the announcement; ascending.
    package func sendEvent(_ message: [UInt8], sequence: Int64) {
        writer.update { state in
            if state.takesMessages { state.backlog.addEvent(message, sequence: sequence) }
        }
    }

    /// Queues a progress message, without its frame, in place of the download's waiting one if there is one.
    package func sendProgress(_ message: [UInt8], id: String) {
        writer.update { state in
            if state.takesMessages { state.backlog.setProgress(message, id: id) }
        }
    }

    /// Drops a download's waiting progress; to be called before its final event is sent.
    package func discardProgress(id: String) {
        writer.update(wakes: false) { $0.backlog.discardProgress(id: id) }
    }

    /// Writes what waits, and drops all that will be sent.
    package func beginClosing() {
        writer.beginClosing()
    }

    /// Takes no more messages, writes what waits, and ends the thread; gives up when the time is up.
    ///
    /// A host that does not read can keep the writer in its last write for ever; that thread is then left to the
    /// process's end.
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
