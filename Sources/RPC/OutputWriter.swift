internal import Glibc
internal import Platform

/// The writer thread of an `OutputQueue`: the shared state and the loop.  Isolation: any thread, state in Guarded.
final class OutputWriter: Sendable {
    struct State {
        var backlog = OutputBacklog()
        var framing = Framing.line
        /// All messages are dropped.
        var isMuted = false
        /// The thread sleeps or is about to: a change must signal it.
        var isWaiting = false
        var isClosing = false
        var isEnded = false
        private var isJoined = false

        var takesMessages: Bool { !isMuted && !isClosing }

        /// True only for the first caller: a thread can be joined once.
        mutating func claimJoin() -> Bool {
            defer { isJoined = true }
            return !isJoined
        }
    }

    private enum Step {
        case write(OutputBacklog.Batch, Framing)
        case wait
        case end
    }

    let backpressure: Backpressure
    private let descriptor: FileDescriptor
    private let wakeUp: WakeUp
    private let end: WakeUp
    private let encodeEventsLost: @Sendable (ClosedRange<Int64>) -> [UInt8]
    private let onFailure: @Sendable (Errno) -> Void
    private let state = Guarded(State())

    init(
        descriptor: consuming FileDescriptor,
        backpressure: Backpressure,
        wakeUp: consuming WakeUp,
        end: consuming WakeUp,
        encodeEventsLost: @escaping @Sendable (ClosedRange<Int64>) -> [UInt8],
        onFailure: @escaping @Sendable (Errno) -> Void
    ) {
        self.descriptor = descriptor
        self.backpressure = backpressure
        self.wakeUp = wakeUp
        self.end = end
        self.encodeEventsLost = encodeEventsLost
        self.onFailure = onFailure
    }

    /// Changes the state and wakes the thread if it sleeps.
    ///
    /// - Parameter wakes: false for changes that give the thread nothing to do.
    @discardableResult
    func update<Result: Sendable>(wakes: Bool = true, _ change: (inout State) -> Result) -> Result {
        let (result, mustWake) = state.withLock { state -> (Result, Bool) in
            let result = change(&state)
            let mustWake = wakes && state.isWaiting
            if mustWake { state.isWaiting = false }
            return (result, mustWake)
        }
        if mustWake { wakeUp.signal() }
        return result
    }

    func beginClosing() {
        update { $0.isClosing = true }
    }

    func mute() {
        let (byteCount, count) = update { state in
            let dropped = (state.backlog.replyByteCount, state.backlog.replyCount)
            state.isMuted = true
            state.backlog = OutputBacklog()
            return dropped
        }
        backpressure.subtract(byteCount: byteCount, count: count)
    }

    func waitForEnd(timeoutMilliseconds: Int) -> Bool {
        let deadline = monotonicNanoseconds() + Int64(timeoutMilliseconds) * 1_000_000
        while !state.withLock({ $0.isEnded }) {
            let rest = (deadline - monotonicNanoseconds() + 999_999) / 1_000_000
            if rest <= 0 { return false }
            end.wait(timeoutMilliseconds: Int32(clamping: rest))
        }
        return true
    }

    /// The thread's body.
    func run() {
        var output: [UInt8] = []
        while true {
            switch state.withLock({ nextStep(&$0) }) {
            case .wait: wakeUp.wait(timeoutMilliseconds: -1)
            case .write(let batch, let framing):
                write(batch, framing, through: &output)
            case .end:
                end.signal()
                return
            }
        }
    }

    private func nextStep(_ state: inout State) -> Step {
        if let batch = state.backlog.takeBatch() { return .write(batch, state.framing) }
        if state.isClosing {
            state.isEnded = true
            return .end
        }
        state.isWaiting = true
        return .wait
    }

    private func write(_ batch: OutputBacklog.Batch, _ framing: Framing, through output: inout [UInt8]) {
        // Keeps the capacity for the next batch, unless one very long message has made it large.
        output.removeAll(keepingCapacity: output.capacity <= 4 * OutputBacklog.batchByteCount)
        for piece in batch.pieces {
            switch piece {
            case .message(let message): framing.append(message, to: &output)
            case .eventsLost(let range): framing.append(encodeEventsLost(range), to: &output)
            }
        }
        let failure = writeAll(output, to: descriptor.raw)
        if failure != nil { mute() }
        backpressure.subtract(byteCount: batch.replyByteCount, count: batch.replyCount)
        if let failure { onFailure(failure) }
    }
}

/// Writes all bytes, however long that takes; returns the error if it fails.  C: write(2)
private func writeAll(_ bytes: [UInt8], to descriptor: Int32) -> Errno? {
    // Safety: the pointer is used only during the call, and at most the remaining bytes are written.
    unsafe bytes.withUnsafeBytes { buffer in
        var rest = unsafe buffer[...]
        while unsafe !rest.isEmpty {
            let part = unsafe UnsafeRawBufferPointer(rebasing: rest)
            let count = unsafe Glibc.write(descriptor, part.baseAddress, part.count)
            if count >= 0 {
                unsafe rest.removeFirst(count)
                continue
            }
            let error = Errno.current
            if error == .wouldBlock {
                waitUntilWritable(descriptor)
            } else if error.code != EINTR {
                return error
            }
        }
        return nil
    }
}

/// Sleeps until the descriptor accepts more: hosts share their pipes with us, and some make them non-blocking.  C:
/// poll(2)
private func waitUntilWritable(_ descriptor: Int32) {
    var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    _ = unsafe poll(&request, 1, -1)
}
