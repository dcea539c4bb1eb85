internal import Core
internal import Curl
internal import Files
internal import Platform
internal import Store

/// The partial file of one download, as the engine knows it.  Isolation: the engine.
///
/// `durable ⊆ written ⊆ submitted`: covered by a completed flush; handed to the kernel; handed to the file worker.
struct PartialState {
    enum Stage: Equatable {
        /// No open file.
        case closed
        /// The file is being opened or made.
        case opening
        /// Open, but the record that names it and its entity is not committed yet: no byte may be written.
        case committing
        /// Bytes may be written.
        case ready
        /// What the file held is of no use; it goes once the record says so, and a new one is made.
        case discarding
    }
    /// A buffer of body bytes that has left its transfer and waits for `ready`.
    struct Gathered {
        var buffer: IOBuffer
        var offset: Int64
        var exchange: Exchange
    }

    var stage = Stage.closed
    /// Tells the opening that counts from one that was overtaken.
    private(set) var openingToken: UInt64 = 0
    var file: OpenFile?
    var durable = ByteRangeSet()
    var written = ByteRangeSet()
    var submitted = ByteRangeSet()
    var gathered: [Gathered] = []
    var writesInFlight = 0
    /// The bytes of a body that is being made into a file in one go.
    var wholeByteCountOnItsWay: Int64 = 0
    /// The slot of the session file that holds the `written` mark; nil until the first write that needs one.
    var slot: Int?
    /// What the record says is there, not to be believed before the file has been opened and looked at.
    var claimed = ByteRangeSet()

    var isCheckpointing = false
    var bytesSinceCheckpoint: Int64 = 0
    var lastCheckpointNanoseconds: Int64 = 0

    /// What counts as received besides what memory holds.
    var heldRanges: ByteRangeSet { file == nil && submitted.isEmpty ? claimed : submitted }

    /// The disk has taken something, or did in an earlier run.
    var hasWritten: Bool { file == nil && submitted.isEmpty ? !claimed.isEmpty : !written.isEmpty }

    var gatheredByteCount: Int64 { gathered.reduce(0) { $0 + Int64($1.buffer.count) } }

    /// Nothing is on its way to the disk, nor waits to be.
    var isQuiet: Bool {
        gathered.isEmpty && writesInFlight == 0 && (stage == .closed || stage == .ready)
    }

    mutating func beginOpening() -> UInt64 {
        stage = .opening
        openingToken += 1
        return openingToken
    }

    /// Forgets every range: what the file holds is worthless now.
    mutating func forgetRanges() {
        setRanges(ByteRangeSet())
        durable = ByteRangeSet()
    }

    /// What is there for certain, nothing being on its way.
    mutating func setRanges(_ ranges: ByteRangeSet) {
        written = ranges
        submitted = ranges
        claimed = ranges
        bytesSinceCheckpoint = 0
    }
}

extension SessionFile: MarkSink {}
