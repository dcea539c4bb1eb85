/// Answers and events for the client, kept back until the changes they report are on disk.
///
/// Everything is sent in order. An entry that was added before a commit was submitted waits for that commit; one that
/// was added while there is nothing to commit waits only for the entries before it.
package struct Outbox<Entry> {
    private struct Waiting {
        var entry: Entry
        /// The last store operation that must have ended first; nil until `seal` sets it.
        var ticket: UInt64?
    }
    private var entries: [Waiting] = []
    private var head = 0
    private var unsealedFrom = 0

    package var isEmpty: Bool { head == entries.count }

    /// Some entries are not bound to a commit yet.
    package var hasUnsealed: Bool { unsealedFrom < entries.count }

    /// How many entries are in memory, delivered ones included.
    var storedCount: Int { entries.count }

    package init() {}

    package mutating func append(_ entry: Entry) {
        entries.append(Waiting(entry: entry, ticket: nil))
    }

    /// Binds all entries since the last call to the store operation `ticket`.
    package mutating func seal(ticket: UInt64) {
        while unsealedFrom < entries.count {
            entries[unsealedFrom].ticket = ticket
            unsealedFrom += 1
        }
    }

    /// The next entry whose commit has ended.
    package mutating func popReady(completedTicket: UInt64) -> Entry? {
        guard head < entries.count, let ticket = entries[head].ticket, ticket <= completedTicket else { return nil }
        let entry = entries[head].entry
        head += 1
        if head > 1_024 && head * 2 > entries.count {
            entries.removeFirst(head)
            unsealedFrom -= head
            head = 0
        }
        return entry
    }
}
