internal import Core
internal import Files
internal import Store

/// A volume on which a download found no space.  Isolation: the engine.
final class FullVolume {
    /// How long a volume still counts as doubtful after it was opened again.
    static let probationNanoseconds: Int64 = 60_000_000_000

    /// Downloads that wait for space, in the order of the queue if `isSorted`.
    private var waiting: [Download] = []
    private var isSorted = true
    /// No download that needs space may write there, except one that the user has resumed.
    var isClosed = false
    /// The reported free space cannot be trusted: a quota, or something unusual.
    var isBlind = false
    /// Checks since it was found full.
    var lookCount = 0
    /// When it is checked next, in monotonic nanoseconds.
    var nextLookAt: Int64 = 0
    /// When a download found no space there, in monotonic nanoseconds.
    var failedAt: Int64 = 0
    /// When downloads continued there; nil: not since it was found full.
    var reopenedAt: Int64?

    func add(_ download: Download) {
        if let last = waiting.last, last.queuePlace > download.queuePlace { isSorted = false }
        waiting.append(download)
    }

    /// The downloads that still wait, in order.
    func stillWaiting() -> [Download] {
        waiting.removeAll { !$0.isWaitingForRoom }
        if !isSorted { waiting.sort { $0.queuePlace < $1.queuePlace } }
        isSorted = true
        return waiting
    }

    /// True if it was opened recently, so that a failure has the same cause.
    func isOnProbation(_ now: Int64) -> Bool {
        reopenedAt.map { now - $0 < Self.probationNanoseconds } ?? false
    }
}

extension Download {
    var isWaitingForRoom: Bool { record.state == .waiting && record.reason == .diskFull }

    /// The space that it needs to continue.
    var neededByteCount: Int64 {
        RoomPolicy.neededByteCount(
            total: record.entity?.totalByteCount, held: partial.heldRanges.byteCount, isReserved: isRoomReserved)
    }

    /// Notes whether all the space that it needs is reserved, before its file is closed.
    func noteReservedRoom() {
        guard let file = partial.file, let total = record.entity?.totalByteCount else { return isRoomReserved = false }
        isRoomReserved = file.reservedByteCount >= total
    }
}
