internal import Synchronization

/// Says that an answer is no longer wanted.  Isolation: any thread.
package final class CancellationFlag: Sendable {
    private let value = Atomic<Bool>(false)

    package init() {}

    /// Asks for an end, which comes soon but not at once; may be said again.
    package func cancel() { value.store(true, ordering: .releasing) }

    /// True once `cancel` has been called.
    package var isCanceled: Bool { value.load(ordering: .acquiring) }
}
