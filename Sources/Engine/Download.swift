internal import Core
internal import Curl
internal import Files
internal import Platform
internal import Store

/// One download that this process owns: its record and what runs for it.  Isolation: the engine.
final class Download {
    let id: String
    var record: DownloadRecord
    let options: DownloadOptions
    var headers: [HeaderField]
    /// The credentials that came with the URL.
    var userInfo: ParsedURL.UserInfo?
    /// The URL asked for; nil when the record's is not usable.
    var source: ParsedURL?
    var phase: DownloadPhase?
    var partial = PartialState()
    var exchange: Exchange?
    var speed = SpeedMeter()
    var trail = Trail()
    /// What its servers set, for as long as this process has it; nil before the first request.
    var cookies: CookieShare?
    /// Where the destination lies; nil while unknown.
    var volume: VolumeID?

    /// The addresses that the last request used or tried to.
    var peers: [SocketAddress] = []
    /// How often in a row it came to wait for the network.
    var offlineCount = 0

    /// Where it stood in the queue when its disk was found full.
    var queuePlace: Int64 = 0
    /// The room for all of its bytes was its own when its file was closed.
    var isRoomReserved = false
    /// When somebody said that it should try a full disk, in monotonic nanoseconds.
    var roomAskedAt: Int64 = .min

    /// Grows with every change of state and every stop: what was begun before is void.
    var generation: UInt64 = 0
    /// What the next requests of this run must do differently.
    var quirks = RangeQuirks()
    var restartCount = 0
    var parts = PartCounts()
    /// This run threw away what was held before it.
    var hasDiscarded = false
    /// Why bytes that were counted once are not any more: the next transfer says so.
    var lossReason: TransferOrigin.Why?
    /// All bytes were fetched once more because those of several responses made a wrong file.
    var hasFetchedAnew = false
    /// The file is what a compressed body decodes to.
    var isDecoded = false
    /// It was that once, and the checksum named other bytes: perhaps it names the compressed ones.
    var keepsCoding = false
    /// Encoded bytes were compared with the checksum in this process: a server that sends them again costs no more for it.
    var hasComparedEncoded = false
    /// Why the body could not be decoded, while the checksum may still name its encoded bytes.
    var codingFailure: DownloadFailure?
    /// What the URLs call the file that were asked since the last one that the host gave.
    var chainNames: [String] = []
    /// Where the redirects led to the bytes that are held: may hold secrets, so that it is never saved.
    var earlierLocation: EarlierLocation?
    /// It was asked once more in this run.
    var hasAskedEarlierLocation = false
    /// What was held when the current try began: only a failure after more than that starts the count of failures anew.
    var startByteCount: Int64 = 0
    /// How often in a row no descriptor was left for it.
    var shortageCount: Int64 = 0
    /// It stands in the line for buffers.
    var isStarving = false
    /// The body has ended, and with what; judged when its last byte is written.
    var bodyEnd: BodyEnd?
    /// The finished file is being named: no command may come between.
    var isPublishing = false
    /// Commands that wait for what comes of the naming.
    var afterPublishing: [() -> Void] = []
    var digestCancellation: CancellationFlag?
    var isNaming = false
    /// What stands at the destination and is being asked about: requests carry its conditions.
    var look: ExistingLook?
    /// What stood at the destination and is not the file: `ifExists: skip` replaces this alone.
    var otherFile: ExaminedFile?
    /// Its partial is being removed.
    var isDiscarding = false
    /// An earlier process may have made its partial and been killed before the record told of it.
    var mayHaveOrphan = false
    var partialNumber = 1
    /// Runs when nothing of this download is on its way to the disk any more.
    var onQuiet: (() -> Void)?
    /// Counts how often that has run: a time limit set for an earlier wait is void.
    var quietCount: UInt64 = 0
    /// What was told to have been received, by attempt.
    private var told: [(attempt: Int, byteCount: Int64)] = []
    /// Bytes of this attempt count also before the disk has taken any.
    var isMemoryCounted = false
    var isDirty = false
    /// The last save failed: the disk knows an older state than memory.
    var isUnsaved = false
    /// It is complete, and the client is not told before that is saved.
    var isEndHeldBack = false
    /// How often the record of a complete download could not be saved.
    var endSaveFailureCount = 0
    /// The client has heard that it is over.
    var isEndTold = false
    /// Run when the next save has ended; with false if it failed.
    var afterSave: [(Bool) -> Void] = []
    /// The ticket of the last save handed to the store.
    var lastSaveTicket: UInt64 = 0

    enum BodyEnd {
        case complete
        case failure(DownloadFailure)
        /// The body cannot be decoded; a checksum tells whether its encoded bytes are the file.
        case undecodable(DownloadFailure)
        /// What came cannot be told to be the file.
        case contradiction(DownloadFailure)
    }

    init(record: DownloadRecord, source: ParsedURL?) {
        id = record.id
        self.record = record
        self.source = source
        options = OptionsText.decode(record.optionsText)
        headers = OptionsText.decodeHeaders(record.headersText)
        userInfo = URLUserInfo.kept(in: record.headersText).flatMap { URLParser.credentials($0) }
    }

    /// What is left is the disk's part: another source would change nothing.
    var isTransferOver: Bool { phase == .finalizing || phase == .verifying }

    /// What counts as received.  Bytes in memory do once the disk has taken some, which a full one never does, or once the
    /// transfer that brought them has failed.
    var receivedByteCount: Int64 { isMemoryCounted || partial.hasWritten ? byteCountInHand : 0 }

    /// On disk, on the way there, gathered, and still in the transfer's buffers.
    var byteCountInHand: Int64 {
        let inTransfer = exchange.map { $0.plan == nil ? 0 : Int64($0.transfer.bufferedByteCount) } ?? 0
        return partial.heldRanges.byteCount + partial.gatheredByteCount + partial.wholeByteCountOnItsWay + inTransfer
    }

    /// Sees to it that within an attempt no count that is told falls: what has waited for its commit is older than what was
    /// told meanwhile without one.
    func tell(_ snapshot: inout DownloadSnapshot) {
        let place: Int
        if let known = told.lastIndex(where: { $0.attempt == snapshot.attempt }) {
            place = known
        } else {
            // Nothing that waits tells of an attempt so long ago.
            if told.count == 100 { told.removeFirst() }
            place = told.count
            told.append((snapshot.attempt, 0))
        }
        snapshot.receivedByteCount = max(snapshot.receivedByteCount, told[place].byteCount)
        told[place].byteCount = snapshot.receivedByteCount
    }

    /// Body bytes of this attempt, as they came over the network.
    var transferredByteCount: Int64 {
        record.transferredByteCount + (exchange.map { $0.plan == nil ? 0 : $0.transfer.receivedByteCount } ?? 0)
    }

    /// Whether an interruption would cost only what is on its way; nil until a response told.
    var isResumable: Bool? {
        guard let entity = record.entity else { return nil }
        let plan = ResumePlanner.plan(
            entity: entity,
            held: ByteRangeSet(0, 1),
            resumePolicy: options.resumePolicy,
            hasChecksum: record.checksum != nil,
            quirks: quirks
        )
        if case .whole = plan { return false }
        return true
    }
}

/// What the parts of one run brought, from a server that sends a file in parts.
struct PartCounts {
    /// New bytes of the last.
    var lastByteCount: Int64 = 0
    /// Those that brought nothing but what was compared.
    var comparedCount = 0
    /// Those that brought little.
    var smallCount = 0
}

/// Where redirects once led, and the host's headers that may go there.
struct EarlierLocation {
    var url: ParsedURL
    var headers: [HeaderField]
}

/// One request and its response.  Isolation: the engine.
final class Exchange {
    let transfer: Transfer
    let url: ParsedURL
    /// The host's headers that this request carried: what one redirect has cut stays cut.
    let headers: [HeaderField]
    let hopCount: Int
    let asked: RangeRequest?
    /// Nil until the gate has accepted the response.
    var plan: BodyPlan?
    /// It was sent straight to where an earlier response had come from.
    var isAtEarlierLocation = false
    /// The bytes that the body must begin with before it is taken; nil when there is nothing to compare.
    var comparison: OverlapComparison?
    /// The body that has to come so far before it is taken; nil when there is no such.
    var awaited: AwaitedBody?
    /// Where the next buffer that leaves the transfer belongs in the file.
    var nextOffset: Int64 = 0
    /// Buffers in the transfer, gathered, or on their way to the disk.
    var bufferCount = 0
    /// Those of them in the transfer.
    var transferBufferCount = 0
    /// When a buffer last left the transfer, in monotonic nanoseconds.
    var lastFlushAt: Int64 = 0
    /// When libcurl last had news of the transfer, the request's beginning included.
    var lastNewsAt: Int64 = 0

    init(transfer: Transfer, url: ParsedURL, headers: [HeaderField], hopCount: Int, asked: RangeRequest?) {
        self.transfer = transfer
        self.url = url
        self.headers = headers
        self.hopCount = hopCount
        self.asked = asked
    }

    /// Takes the buffers that hold body bytes out of the transfer, in body order.
    ///
    /// - Parameter fullOnly: leaves the one that is being filled.
    func takeFilledBuffers(fullOnly: Bool) -> [IOBuffer] {
        var taken = transfer.takeFullBuffers()
        if !fullOnly, let current = transfer.takeCurrentBuffer() { taken.append(current) }
        transferBufferCount -= taken.count
        return taken
    }

    /// Takes every buffer out of a transfer that has ended.
    func takeAllBuffers() -> [IOBuffer] {
        let taken = takeFilledBuffers(fullOnly: false) + transfer.takeUnusedBuffers()
        bufferCount -= taken.count
        transferBufferCount = 0
        return taken
    }
}
