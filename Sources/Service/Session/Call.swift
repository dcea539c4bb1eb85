internal import RPC

/// A request that is being processed.
///
/// Isolation: the engine's, like the session that owns it.
final class Call {
    /// Nil for a notification, which gets no answer.
    let id: RequestID?
    let method: MethodDescription
    /// Its batch and its place there, if it came in one.
    let slot: BatchSlot?
    /// The bytes that it reserves (`RequestRoom`); nil once they are released.
    var heldByteCount: Int?
    var isAnswered = false
    /// A wait that is counted with the waits, not with the pending requests.
    var isParked = false

    init(id: RequestID?, method: MethodDescription, slot: BatchSlot?, heldByteCount: Int?) {
        self.id = id
        self.method = method
        self.slot = slot
        self.heldByteCount = heldByteCount
    }
}

/// A place for one answer of a batch.
struct BatchSlot {
    let batch: Batch
    let index: Int
}

/// The answers of a batch: collected, and sent together when all are there.
final class Batch {
    /// Encoded at once, because text needs less memory than parsed values.
    private var responses: [[UInt8]?]
    private var missingCount: Int
    let byteCount: Int

    /// - Parameter count: entries that will be answered or skipped, with one call of `fill` for each.
    init(count: Int, byteCount: Int) {
        responses = Array(repeating: nil, count: count)
        missingCount = count
        self.byteCount = byteCount
    }

    /// Stores an answer in its place; nil for an entry without answer.  Returns true for the last one.
    func fill(_ index: Int, _ response: Response?) -> Bool {
        responses[index] = response?.encoded()
        missingCount -= 1
        return missingCount == 0
    }

    /// The array of answers, only once; nil if there is none.
    func takeEncoded() -> [UInt8]? {
        defer { responses = [] }
        return Response.encodedBatch(responses.compactMap { $0 })
    }
}
