internal import Core
internal import Curl
internal import Files
internal import Platform
internal import Store

/// A download that this process owns: its record and its running work.  Isolation: the engine.
final class Download {
    let id: String
    var record: DownloadRecord
    let options: DownloadOptions
    var headers: [HeaderField]
    /// The credentials from the URL.
    var userInfo: ParsedURL.UserInfo?
    /// The requested URL; nil if the record's URL is not usable.
    var source: ParsedURL?
    var phase: DownloadPhase?
    var partial = PartialState()
    var exchange: Exchange?
    var speed = SpeedMeter()
    var trail = Trail()
    /// Cookies set by its servers, kept only while this process runs it; nil before the first request.
    var cookies: CookieShare?
    /// The volume of the destination; nil while unknown.
    var volume: VolumeID?

    /// The addresses that the last request used or tried.
    var peers: [SocketAddress] = []
    /// How often in a row it had to wait for the network.
    var offlineCount = 0

    /// Its place in the queue when its disk was found full.
    var queuePlace: Int64 = 0
    /// Space for all of its bytes was reserved when its file was closed.
    var isRoomReserved = false
    /// When somebody last requested that it tries a full disk, in monotonic nanoseconds.
    var roomAskedAt: Int64 = .min

    /// Grows with every change of state and every stop: earlier steps are then void.
    var generation: UInt64 = 0
    /// What the next requests of this run must do differently.
    var quirks = RangeQuirks()
    var restartCount = 0
    var parts = PartCounts()
    /// This run discarded bytes that were received before it.
    var hasDiscarded = false
    /// Why bytes that were counted do not count any more; the next transfer reports it.
    var lossReason: TransferOrigin.Why?
    /// All bytes were downloaded again, because the bytes of several responses made a wrong file.
    var hasFetchedAnew = false
    /// The file is the decoded form of a compressed body.
    var isDecoded = false
    /// The decoded file did not match the checksum: perhaps the encoded bytes do.
    var keepsCoding = false
    /// Encoded bytes were compared with the checksum in this process: if a server sends them again, this is not
    /// repeated.
    var hasComparedEncoded = false
    /// Why the body could not be decoded, while its encoded bytes may still match the checksum.
    var codingFailure: DownloadFailure?
    /// The file names in the URLs requested since the last URL that the host gave.
    var chainNames: [String] = []
    /// Where the redirects led when the bytes were received: may contain secrets, so it is never saved.
    var earlierLocation: EarlierLocation?
    /// That location was already tried in this run.
    var hasAskedEarlierLocation = false
    /// Bytes received when the current try began: only a failure with more bytes resets the count of failures.
    var startByteCount: Int64 = 0
    /// How often in a row no file descriptor was left for it.
    var shortageCount: Int64 = 0
    /// It waits for buffers.
    var isStarving = false
    /// How the body ended; processed when its last byte is written.
    var bodyEnd: BodyEnd?
    /// The finished file is being renamed: no command may be performed meanwhile.
    var isPublishing = false
    /// Commands that wait for the result of the rename.
    var afterPublishing: [() -> Void] = []
    var digestCancellation: CancellationFlag?
    var isNaming = false
    /// The file at the destination that the server is asked about: requests contain its conditions.
    var look: ExistingLook?
    /// The file at the destination that is another one: `ifExists: skip` may replace only this.
    var otherFile: ExaminedFile?
    /// Its partial is being deleted.
    var isDiscarding = false
    /// An earlier process may have made its partial and been killed before it was recorded.
    var mayHaveOrphan = false
    var partialNumber = 1
    /// Runs when no bytes of this download are on the way to the disk any more.
    var onQuiet: (() -> Void)?
    /// Counts how often that has run, so that a time limit for an earlier wait is void.
    var quietCount: UInt64 = 0
    /// The received bytes that were last reported, by attempt.
    private var told: [(attempt: Int, byteCount: Int64)] = []
    /// Bytes of this attempt count as received even before the disk has stored any.
    var isMemoryCounted = false
    var isDirty = false
    /// The last save failed: memory is newer than the database.
    var isUnsaved = false
    /// It is complete, but this is not reported before it is saved.
    var isEndHeldBack = false
    /// How often the record of a complete download could not be saved.
    var endSaveFailureCount = 0
    /// The end was reported to the client.
    var isEndTold = false
    /// Called when the next save has ended; with false if it failed.
    var afterSave: [(Bool) -> Void] = []
    /// Events about it that wait for their commit: until they are sent it has no progress to report, so that none comes
    /// before the answer to the request that caused it.
    var pendingEventCount = 0
    /// The ticket of the last save submitted to the store.
    var lastSaveTicket: UInt64 = 0

    enum BodyEnd {
        case complete
        case failure(DownloadFailure)
        /// The body cannot be decoded; a checksum decides whether its encoded bytes are the file.
        case undecodable(DownloadFailure)
        /// The received bytes cannot be shown to be the file.
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

    /// Only work on the disk remains: another source would change nothing.
    var isTransferOver: Bool { phase == .finalizing || phase == .verifying }

    /// The count of received bytes.  Bytes in memory count once the disk has stored some (which a full disk never
    /// does), or once their transfer has failed.
    var receivedByteCount: Int64 { isMemoryCounted || partial.hasWritten ? byteCountInHand : 0 }

    /// Bytes on disk, on the way there, gathered, and still in the transfer's buffers.
    var byteCountInHand: Int64 {
        let inTransfer = exchange.map { $0.plan == nil ? 0 : Int64($0.transfer.bufferedByteCount) } ?? 0
        return partial.heldRanges.byteCount + partial.gatheredByteCount + partial.wholeByteCountOnItsWay + inTransfer
    }

    /// Makes sure that within an attempt no reported count decreases: a snapshot that waited for its commit may be
    /// older than one that was reported meanwhile.
    func tell(_ snapshot: inout DownloadSnapshot) {
        let place: Int
        if let known = told.lastIndex(where: { $0.attempt == snapshot.attempt }) {
            place = known
        } else {
            // No queued snapshot is of an attempt so long ago.
            if told.count == 100 { told.removeFirst() }
            place = told.count
            told.append((snapshot.attempt, 0))
        }
        snapshot.receivedByteCount = max(snapshot.receivedByteCount, told[place].byteCount)
        told[place].byteCount = snapshot.receivedByteCount
    }

    /// Body bytes of this attempt, as received over the network.
    var transferredByteCount: Int64 {
        record.transferredByteCount + (exchange.map { $0.plan == nil ? 0 : $0.transfer.receivedByteCount } ?? 0)
    }

    /// Whether an interruption would cost only the bytes on the way; nil until a response was received.
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

/// What the parts of one run contained, from a server that sends a file in parts.
struct PartCounts {
    /// New bytes of the last part.
    var lastByteCount: Int64 = 0
    /// Parts that contained only bytes for comparison.
    var comparedCount = 0
    /// Parts with few bytes.
    var smallCount = 0
}

/// The target of earlier redirects, and the host's headers that may be sent there.
struct EarlierLocation {
    var url: ParsedURL
    var headers: [HeaderField]
}

/// One request and its response.  Isolation: the engine.
final class Exchange {
    let transfer: Transfer
    let url: ParsedURL
    /// The host's headers in this request: headers that one redirect removed are not sent again.
    let headers: [HeaderField]
    let hopCount: Int
    let asked: RangeRequest?
    /// Nil until the gate has accepted the response.
    var plan: BodyPlan?
    /// It was sent directly to the location of an earlier response.
    var isAtEarlierLocation = false
    /// The bytes with which the body must begin before it is accepted; nil if there is nothing to compare.
    var comparison: OverlapComparison?
    /// The body is accepted only once this much of it is received; nil if there is no such condition.
    var awaited: AwaitedBody?
    /// Position in the file of the next buffer that leaves the transfer.
    var nextOffset: Int64 = 0
    /// Buffers in the transfer, gathered, or on the way to the disk.
    var bufferCount = 0
    /// Those in the transfer.
    var transferBufferCount = 0
    /// When a buffer last left the transfer, in monotonic nanoseconds.
    var lastFlushAt: Int64 = 0
    /// When libcurl last made progress with the transfer, the start of the request included.
    var lastNewsAt: Int64 = 0

    init(transfer: Transfer, url: ParsedURL, headers: [HeaderField], hopCount: Int, asked: RangeRequest?) {
        self.transfer = transfer
        self.url = url
        self.headers = headers
        self.hopCount = hopCount
        self.asked = asked
    }

    /// Takes the buffers with body bytes out of the transfer, in body order.
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
