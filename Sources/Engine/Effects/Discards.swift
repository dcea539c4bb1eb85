/// Partials that are being deleted, and what waits until none is.  Isolation: the engine.
struct Discards {
    private var pendingCount = 0
    /// The ids of downloads that are released when their partials are deleted.
    private var ids: Set<String> = []
    private var onAllEnded: [() -> Void] = []

    mutating func begin(_ id: String) {
        ids.insert(id)
        pendingCount += 1
    }

    /// The id belongs to another download now, or this one continues: it is not released.
    mutating func keep(_ id: String) { ids.remove(id) }

    /// - Returns: whether its download may be released, and what waited for this to be the last.
    mutating func end(_ id: String) -> (mayRelease: Bool, bodies: [() -> Void]) {
        let mayRelease = ids.remove(id) != nil
        pendingCount -= 1
        guard pendingCount == 0 else { return (mayRelease, []) }
        defer { onAllEnded = [] }
        return (mayRelease, onAllEnded)
    }

    /// Keeps a body for the moment when no partial is being deleted; false when that is now.
    mutating func whenAllEnded(_ body: @escaping () -> Void) -> Bool {
        guard pendingCount > 0 else { return false }
        onAllEnded.append(body)
        return true
    }
}
