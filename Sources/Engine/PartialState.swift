internal import Core
internal import Curl
internal import Files
internal import Platform
internal import Store

/// The engine's state of a download's partial file.  Isolation: the engine.
///
/// `durable ⊆ written ⊆ submitted`: covered by a completed flush; passed to the kernel; passed to the file worker.
struct PartialState {
    enum Stage: Equatable {
        /// No open file.
        case closed
        /// The file is being opened or created.
        case opening
        /// Open, but the record with its name and entity is not committed yet: no byte may be written.
        case committing
        /// Bytes may be written.
        case ready
        /// The content is useless: the file is deleted once the record is saved, and a new one is made.
        case discarding
    }
    /// A buffer of body bytes that has left its transfer and waits for `ready`.
    struct Gathered {
        var buffer: IOBuffer
        var offset: Int64
        var exchange: Exchange
    }

    var stage = Stage.closed
    /// Identifies the current opening; results of earlier ones are ignored.
    private(set) var openingToken: UInt64 = 0
    var file: OpenFile?
    var durable = ByteRangeSet()
    var written = ByteRangeSet()
    var submitted = ByteRangeSet()
    var gathered: [Gathered] = []
    var writesInFlight = 0
    /// The bytes of a body that is written to a new file in one job.
    var wholeByteCountOnItsWay: Int64 = 0
    /// The slot of the session file with the `written` mark; nil until the first write that needs one.
    var slot: Int?
    /// The bytes according to the record; not trusted before the file has been opened and checked.
    var claimed = ByteRangeSet()

    var isCheckpointing = false
    var bytesSinceCheckpoint: Int64 = 0
    var lastCheckpointNanoseconds: Int64 = 0

    /// The bytes that count as received, without those in memory.
    var heldRanges: ByteRangeSet { file == nil && submitted.isEmpty ? claimed : submitted }

    /// The disk has stored some bytes, now or in an earlier run.
    var hasWritten: Bool { file == nil && submitted.isEmpty ? !claimed.isEmpty : !written.isEmpty }

    var gatheredByteCount: Int64 { gathered.reduce(0) { $0 + Int64($1.buffer.count) } }

    /// No byte is on the way to the disk or waits for it.
    var isQuiet: Bool {
        gathered.isEmpty && writesInFlight == 0 && (stage == .closed || stage == .ready)
    }

    mutating func beginOpening() -> UInt64 {
        stage = .opening
        openingToken += 1
        return openingToken
    }

    /// Discards all ranges, because the content is useless.
    mutating func forgetRanges() {
        setRanges(ByteRangeSet())
        durable = ByteRangeSet()
    }

    /// Sets the bytes that are certainly stored, while no write is pending.
    mutating func setRanges(_ ranges: ByteRangeSet) {
        written = ranges
        submitted = ranges
        claimed = ranges
        bytesSinceCheckpoint = 0
    }
}

extension SessionFile: MarkSink {}
