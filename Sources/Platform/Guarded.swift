internal import Synchronization

/// A mutex that the thread sanitizer can see.  Isolation: any thread.
///
/// `Mutex` on Linux uses futex calls inside the uninstrumented runtime library, so the sanitizer would report every
/// guarded state as a race. An atomic accessed first and last in the critical section gives it the ordering, at the
/// cost of two plain moves.
/// Keep the body short: no I/O, no calls to other code, no other lock.
package struct Guarded<State: ~Copyable>: ~Copyable, Sendable {
    private let mutex: Mutex<State>
    private let edge = Atomic<Bool>(false)

    package init(_ state: consuming sending State) {
        mutex = Mutex(state)
    }

    package borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending State) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try mutex.withLock { state throws(Failure) in
            _ = edge.load(ordering: .acquiring)
            defer { edge.store(true, ordering: .releasing) }
            return try body(&state)
        }
    }
}
