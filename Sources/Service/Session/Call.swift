internal import RPC

/// One request that is being worked on.
///
/// Isolation: the engine's, like the session that holds it.
final class Call {
    /// Nil for a notification: nobody waits for its answer.
    let id: RequestID?
    let method: MethodDescription
    /// The batch it came in and its place there.
    let slot: BatchSlot?
    /// How much room it takes among the requests that are being worked on; nil once that was given back.
    var heldByteCount: Int?
    var isAnswered = false
    /// A wait that is counted with the waits, not with the requests that are being worked on.
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

/// The answers of a batch: gathered, and sent together when the last is there.
final class Batch {
    /// Encoded at once: text takes less than the values that it tells.
    private var responses: [[UInt8]?]
    private var missingCount: Int
    let byteCount: Int

    /// - Parameter count: entries that will be answered or passed over, one call of `fill` each.
    init(count: Int, byteCount: Int) {
        responses = Array(repeating: nil, count: count)
        missingCount = count
        self.byteCount = byteCount
    }

    /// Puts an answer in its place; nil for an entry without one.  True when it was the last.
    func fill(_ index: Int, _ response: Response?) -> Bool {
        responses[index] = response?.encoded()
        missingCount -= 1
        return missingCount == 0
    }

    /// The array, once; nil when there is nothing to answer.
    func takeEncoded() -> [UInt8]? {
        defer { responses = [] }
        return Response.encodedBatch(responses.compactMap { $0 })
    }
}
