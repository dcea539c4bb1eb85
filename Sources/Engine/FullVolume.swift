internal import Core
internal import Files
internal import Store

/// A volume on which a download found no room.  Isolation: the engine.
final class FullVolume {
    /// For so long after it was opened again a volume is not taken for a sound one.
    static let probationNanoseconds: Int64 = 60_000_000_000

    /// Those that wait for room, in the order of the queue when it is `isSorted`.
    private var waiting: [Download] = []
    private var isSorted = true
    /// Nothing that needs room may go there, only that of which the user says so.
    var isClosed = false
    /// What the volume says of its room is not to be believed: a quota, or an oddity.
    var isBlind = false
    /// Looks since it was found full.
    var lookCount = 0
    /// When it is looked at next, in monotonic nanoseconds.
    var nextLookAt: Int64 = 0
    /// When a download found no room there, in monotonic nanoseconds.
    var failedAt: Int64 = 0
    /// When downloads were let go on there; nil: not since it was found full.
    var reopenedAt: Int64?

    func add(_ download: Download) {
        if let last = waiting.last, last.queuePlace > download.queuePlace { isSorted = false }
        waiting.append(download)
    }

    /// Those that still wait, in order.
    func stillWaiting() -> [Download] {
        waiting.removeAll { !$0.isWaitingForRoom }
        if !isSorted { waiting.sort { $0.queuePlace < $1.queuePlace } }
        isSorted = true
        return waiting
    }

    /// True when it was opened not long ago, so that this failure is the same trouble still.
    func isOnProbation(_ now: Int64) -> Bool {
        reopenedAt.map { now - $0 < Self.probationNanoseconds } ?? false
    }
}

extension Download {
    var isWaitingForRoom: Bool { record.state == .waiting && record.reason == .diskFull }

    /// The room that it needs to go on.
    var neededByteCount: Int64 {
        RoomPolicy.neededByteCount(
            total: record.entity?.totalByteCount, held: partial.heldRanges.byteCount, isReserved: isRoomReserved)
    }

    /// Notes whether all of the room that it needs is its own, before its file is closed.
    func noteReservedRoom() {
        guard let file = partial.file, let total = record.entity?.totalByteCount else { return isRoomReserved = false }
        isRoomReserved = file.reservedByteCount >= total
    }
}
