/// The unsent messages, in order. A plain value: `OutputQueue` adds the thread and the lock.
///
/// Answers are always kept. Events are kept up to a limit. Beyond it they are dropped, and one notice marks the gap,
/// until all messages before the notice have been taken. Each download has at most one unsent progress message; a newer
/// one replaces it and goes to the end.
struct OutputBacklog: Sendable {
    /// The most bytes of unsent events.
    static let maximumEventByteCount = 4 << 20
    /// Bytes that one write collects; a longer message is written alone.
    static let batchByteCount = 64 << 10
    /// The most discarded progress entries in the queue before they are removed.
    private static let maximumStaleCount = 1024

    enum Piece: Equatable {
        case message([UInt8])
        /// The events with these sequence numbers were dropped here.
        case eventsLost(ClosedRange<Int64>)
    }

    /// The content of one write.
    struct Batch: Equatable {
        var pieces: [Piece] = []
        var byteCount = 0
        var replyByteCount = 0
        var replyCount = 0
    }

    private enum Entry {
        case taken
        case reply([UInt8])
        case event([UInt8])
        case eventsLost
        case progress(id: String, generation: UInt64)
    }

    private struct Slot {
        var message: [UInt8]
        /// The number of the slot's entry; entries with another number were discarded.
        let generation: UInt64
    }

    private let maximumEventByteCount: Int
    // Entries before `head` are taken.
    private var entries: [Entry] = []
    private var head = 0
    private var eventByteCount = 0
    /// The dropped events; not nil exactly while an `eventsLost` entry is queued.
    private var lost: ClosedRange<Int64>?
    private var slots: [String: Slot] = [:]
    private var generation: UInt64 = 0
    private var staleCount = 0
    /// The number of unsent answers.
    private(set) var replyCount = 0
    private(set) var replyByteCount = 0

    init(maximumEventByteCount: Int = OutputBacklog.maximumEventByteCount) {
        self.maximumEventByteCount = maximumEventByteCount
    }

    mutating func addReply(_ message: [UInt8]) {
        replyCount += 1
        replyByteCount += message.count
        entries.append(.reply(message))
    }

    mutating func addEvent(_ message: [UInt8], sequence: Int64) {
        if let range = lost {
            lost = min(range.lowerBound, sequence)...max(range.upperBound, sequence)
        } else if message.count > maximumEventByteCount - eventByteCount {
            lost = sequence...sequence
            entries.append(.eventsLost)
        } else {
            eventByteCount += message.count
            entries.append(.event(message))
        }
    }

    mutating func setProgress(_ message: [UInt8], id: String) {
        // It must not overtake later messages about the download.
        if slots[id] != nil { discardProgress(id: id) }
        generation += 1
        slots[id] = Slot(message: message, generation: generation)
        entries.append(.progress(id: id, generation: generation))
    }

    mutating func discardProgress(id: String) {
        if slots.removeValue(forKey: id) == nil { return }
        staleCount += 1
        if staleCount > OutputBacklog.maximumStaleCount && staleCount > (entries.count - head) / 2 { sweep() }
    }

    private mutating func sweep() {
        entries = entries[head...].filter { entry in
            guard case .progress(let id, let generation) = entry else { return true }
            return slots[id]?.generation == generation
        }
        head = 0
        staleCount = 0
    }

    /// Takes the oldest messages, as many as one write collects; nil when there are none.
    mutating func takeBatch() -> Batch? {
        var batch = Batch()
        while head < entries.count {
            // An eventsLost notice is small; it is not worth encoding here to count its bytes.
            let byteCount = byteCount(of: entries[head])
            if !batch.pieces.isEmpty && byteCount > OutputBacklog.batchByteCount - batch.byteCount { break }
            take(into: &batch)
        }
        return batch.pieces.isEmpty ? nil : batch
    }

    private func byteCount(of entry: Entry) -> Int {
        switch entry {
        case .taken, .eventsLost: 0
        case .reply(let message), .event(let message): message.count
        case .progress(let id, let generation):
            slots[id].map { $0.generation == generation ? $0.message.count : 0 } ?? 0
        }
    }

    private mutating func take(into batch: inout Batch) {
        switch pop() {
        case .taken: break
        case .reply(let message):
            replyCount -= 1
            replyByteCount -= message.count
            batch.replyCount += 1
            batch.replyByteCount += message.count
            batch.append(message)
        case .event(let message):
            eventByteCount -= message.count
            batch.append(message)
        case .eventsLost:
            if let range = lost { batch.pieces.append(.eventsLost(range)) }
            lost = nil
        case .progress(let id, let generation):
            if let slot = slots[id], slot.generation == generation {
                slots[id] = nil
                batch.append(slot.message)
            } else {
                staleCount -= 1
            }
        }
    }

    private mutating func pop() -> Entry {
        let entry = entries[head]
        entries[head] = .taken
        head += 1
        if head == entries.count {
            entries.removeAll(keepingCapacity: entries.count <= 4096)
            head = 0
        } else if head >= 4096 && head > entries.count / 2 {
            // Moves no more entries than were taken since the last time.
            entries.removeSubrange(..<head)
            head = 0
        }
        return entry
    }
}

extension OutputBacklog.Batch {
    fileprivate mutating func append(_ message: [UInt8]) {
        pieces.append(.message(message))
        byteCount += message.count
    }
}
