/// A queue that many threads fill and one thread empties.  Isolation: any thread, state in Guarded.
///
/// A reader is notified in one of two ways: a worker thread sleeps in `waitAndTakeAll`; the loop passes `onFirst`,
/// which wakes its poll.
package final class Mailbox<Element: Sendable>: Sendable {
    private struct State {
        var elements: [Element] = []
        var isClosed = false
    }
    private let state = Guarded(State())
    private let wakeUp: WakeUp
    private let onFirst: (@Sendable () -> Void)?

    /// - Parameter onFirst: called on the sender's thread when the mailbox stops being empty.
    package init(onFirst: (@Sendable () -> Void)? = nil) throws(Errno) {
        wakeUp = try WakeUp()
        self.onFirst = onFirst
    }

    package func send(_ element: Element) {
        let isFirst = state.withLock { state in
            state.elements.append(element)
            return state.elements.count == 1
        }
        if isFirst { notify() }
    }

    package func send(contentsOf elements: [Element]) {
        if elements.isEmpty { return }
        let isFirst = state.withLock { state in
            state.elements.append(contentsOf: elements)
            return state.elements.count == elements.count
        }
        if isFirst { notify() }
    }

    /// The elements sent since the last call; never waits.
    package func takeAll() -> [Element] {
        state.withLock { state in
            let elements = state.elements
            state.elements = []
            return elements
        }
    }

    package var isEmpty: Bool { state.withLock { $0.elements.isEmpty } }

    /// Sleeps until there are elements; nil once the mailbox is closed and empty, `[]` when the time is up.
    package func waitAndTakeAll(timeoutMilliseconds: Int32 = -1) -> [Element]? {
        let deadline =
            timeoutMilliseconds < 0 ? nil : monotonicNanoseconds() + Int64(timeoutMilliseconds) * 1_000_000
        while true {
            let (elements, isClosed) = state.withLock { state -> ([Element], Bool) in
                let elements = state.elements
                state.elements = []
                return (elements, state.isClosed)
            }
            if !elements.isEmpty { return elements }
            if isClosed { return nil }
            guard let deadline else {
                wakeUp.wait(timeoutMilliseconds: -1)
                continue
            }
            // The wake-up may be for elements that were already taken: only the clock shows that the time is up.
            let rest = deadline - monotonicNanoseconds()
            if rest <= 0 { return [] }
            wakeUp.wait(timeoutMilliseconds: Int32(clamping: (rest + 999_999) / 1_000_000))
        }
    }

    /// Ends the reader's loop after the remaining elements.
    package func close() {
        state.withLock { $0.isClosed = true }
        wakeUp.signal()
    }

    private func notify() {
        if let onFirst { onFirst() } else { wakeUp.signal() }
    }
}
