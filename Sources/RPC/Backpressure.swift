package import Platform

/// Stops the reader from taking more requests while too many answers are unsent.  Isolation: any thread.
///
/// `add` never waits; only the reader does, in `waitForRoom`.
package final class Backpressure: Sendable {
    private struct State {
        // Signed, because it may drop below zero briefly: an answer may be written before its sender has counted it.
        var byteCount = 0
        var count = 0
        var isReaderWaiting = false
    }

    /// The most bytes of unsent answers.
    package static let maximumByteCount = 16 << 20
    /// The most unsent answers.
    package static let maximumCount = 10_000

    private let maximumByteCount: Int
    private let maximumCount: Int
    private let state = Guarded(State())
    private let wakeUp: WakeUp

    /// Starts open; throws when the system has no descriptor left.
    package init(
        maximumByteCount: Int = Backpressure.maximumByteCount, maximumCount: Int = Backpressure.maximumCount
    ) throws(Errno) {
        self.maximumByteCount = maximumByteCount
        self.maximumCount = maximumCount
        wakeUp = try WakeUp()
    }

    /// Bytes of unsent answers.
    package var byteCount: Int { state.withLock { $0.byteCount } }

    /// The number of unsent answers.
    package var count: Int { state.withLock { $0.count } }

    /// True while the reader sleeps in `waitForRoom`.
    var isReaderWaiting: Bool { state.withLock { $0.isReaderWaiting } }

    /// Counts one or more answers; never waits.
    package func add(byteCount: Int, count: Int = 1) {
        state.withLock { state in
            state.byteCount += byteCount
            state.count += count
        }
    }

    /// Undoes what `add` counted; wakes the reader when both counts are low enough.
    package func subtract(byteCount: Int, count: Int = 1) {
        let isReaderFree = state.withLock { state in
            state.byteCount -= byteCount
            state.count -= count
            // Half the limit, so that the reader does not stop and start at every answer.
            if !state.isReaderWaiting || !fits(state, fraction: 2) { return false }
            state.isReaderWaiting = false
            return true
        }
        if isReaderFree { wakeUp.signal() }
    }

    /// Returns at once within the limits; otherwise sleeps until both counts are at most half their limit.
    ///
    /// For one thread only: the reader.
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
