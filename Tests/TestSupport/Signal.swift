package import Platform

/// An event that happens once; threads and tasks can wait for it.  Isolation: any thread.
package final class Signal: Sendable {
    private struct State {
        var isSet = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }
    private let state = Guarded(State())
    private let wakeUp: WakeUp

    package init() throws(Errno) {
        wakeUp = try WakeUp()
    }

    package func set() {
        let waiting = state.withLock { state in
            state.isSet = true
            let waiting = state.waiting
            state.waiting = []
            return waiting
        }
        wakeUp.signal()
        for continuation in waiting { continuation.resume() }
    }

    package var isSet: Bool { state.withLock { $0.isSet } }

    /// Suspends the task; blocks no thread.
    package func wait() async {
        await withCheckedContinuation { continuation in
            let isSet = state.withLock { state in
                if !state.isSet { state.waiting.append(continuation) }
                return state.isSet
            }
            if isSet { continuation.resume() }
        }
    }

    /// Readable after the first `set`, because it is never drained.
    var descriptor: Int32 { wakeUp.raw }
}
