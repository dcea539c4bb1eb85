internal import Synchronization

/// Cancels a job whose result is no longer needed.  Isolation: any thread.
package final class CancellationFlag: Sendable {
    private let value = Atomic<Bool>(false)

    package init() {}

    /// Asks the job to end; it ends soon but not at once. May be called again.
    package func cancel() { value.store(true, ordering: .releasing) }

    /// True once `cancel` has been called.
    package var isCanceled: Bool { value.load(ordering: .acquiring) }
}
