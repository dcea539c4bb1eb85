package import Platform

/// Keeps the reader from taking more requests while too many answers wait to be read.  Isolation: any thread.
///
/// Whoever adds never waits; only the reader does, in `waitForRoom`.
package final class Backpressure: Sendable {
    private struct State {
        // Signed, and allowed below zero for a moment: an answer may be written before its sender has counted it.
        var byteCount = 0
        var count = 0
        var isReaderWaiting = false
    }

    /// Bytes of answers that may wait.
    package static let maximumByteCount = 16 << 20
    /// Answers that may wait.
    package static let maximumCount = 10_000

    private let maximumByteCount: Int
    private let maximumCount: Int
    private let state = Guarded(State())
    private let wakeUp: WakeUp

    /// A gate that is open; throws when the system has no descriptor left.
    package init(
        maximumByteCount: Int = Backpressure.maximumByteCount, maximumCount: Int = Backpressure.maximumCount
    ) throws(Errno) {
        self.maximumByteCount = maximumByteCount
        self.maximumCount = maximumCount
        wakeUp = try WakeUp()
    }

    /// Bytes of answers that wait.
    package var byteCount: Int { state.withLock { $0.byteCount } }

    /// Answers that wait.
    package var count: Int { state.withLock { $0.count } }

    /// True while the reader sleeps in `waitForRoom`.
    var isReaderWaiting: Bool { state.withLock { $0.isReaderWaiting } }

    /// Counts an answer, or more; never waits.
    package func add(byteCount: Int, count: Int = 1) {
        state.withLock { state in
            state.byteCount += byteCount
            state.count += count
        }
    }

    /// Takes back what `add` counted; wakes the reader when there is room.
    package func subtract(byteCount: Int, count: Int = 1) {
        let isReaderFree = state.withLock { state in
            state.byteCount -= byteCount
            state.count -= count
            // Half, so that the reader does not stop and go at every answer.
            if !state.isReaderWaiting || !fits(state, fraction: 2) { return false }
            state.isReaderWaiting = false
            return true
        }
        if isReaderFree { wakeUp.signal() }
    }

    /// Returns at once within the limits; past them, sleeps until no more than half of each is left.
    ///
    /// For one thread: the reader.
    package func waitForRoom() {
        let mustWait = state.withLock { state in
            state.isReaderWaiting = !fits(state, fraction: 1)
            return state.isReaderWaiting
        }
        if !mustWait { return }
        repeat { wakeUp.wait(timeoutMilliseconds: -1) } while state.withLock { $0.isReaderWaiting }
    }

    private func fits(_ state: State, fraction: Int) -> Bool {
        state.byteCount <= maximumByteCount / fraction && state.count <= maximumCount / fraction
    }
}
