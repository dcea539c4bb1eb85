/// Where the redirects led, seen from where the bytes that are held came from.
package enum Mirror: Equatable, Sendable {
    /// To the same host; or there were none.
    case same
    /// To another one, and the earlier one may be asked once more.
    case otherWithEarlier
    /// To another one, and the earlier one cannot help.
    case other
}

/// What the gate knows besides the response.
package struct GateContext: Equatable, Sendable {
    /// The entity that the record knows; nil when none was accepted yet.
    package var entity: Entity?
    /// Which bytes of it are there.
    package var held: ByteRangeSet
    /// The range that was asked for; nil for the whole file.
    package var asked: RangeRequest?
    /// What to do when the file is another one, or cannot be proven the same.
    package var onChange: OnChange
    /// How much proof joining bytes needs.
    package var resumePolicy: ResumePolicy
    /// True when a digest will judge the whole: then joining needs no strong validator.
    package var hasChecksum: Bool
    /// The largest file wanted, in bytes; nil for any.
    package var maxFileByteCount: Int64?
    /// What tells a compressed file from a compressed answer.
    package var codingEvidence: ContentCoding.Evidence
    /// The wall clock in seconds since 1970, for a date in `Retry-After`.
    package var nowSeconds: Int64
    /// How often this run already began anew, or asked again, because of what the gate saw.
    package var restartCount: Int
    /// What was learnt about this origin.
    package var quirks: RangeQuirks
    package var mirror = Mirror.same

    package init(
        entity: Entity? = nil,
        held: ByteRangeSet = ByteRangeSet(),
        asked: RangeRequest? = nil,
        onChange: OnChange = .restart,
        resumePolicy: ResumePolicy = .strict,
        hasChecksum: Bool = false,
        maxFileByteCount: Int64? = nil,
        codingEvidence: ContentCoding.Evidence = ContentCoding.Evidence(),
        nowSeconds: Int64 = 0,
        restartCount: Int = 0,
        quirks: RangeQuirks = RangeQuirks()
    ) {
        self.entity = entity
        self.held = held
        self.asked = asked
        self.onChange = onChange
        self.resumePolicy = resumePolicy
        self.hasChecksum = hasChecksum
        self.maxFileByteCount = maxFileByteCount
        self.codingEvidence = codingEvidence
        self.nowSeconds = nowSeconds
        self.restartCount = restartCount
        self.quirks = quirks
    }
}

/// Where an accepted body goes.
package struct BodyPlan: Equatable, Sendable {
    /// The offset in the file of the body's first byte.
    package var firstOffset: Int64
    /// How many bytes to take: cut there whatever comes, and fewer are an incomplete body; nil takes all until the end.
    ///
    /// The end of the body is the end of the file if this is nil.  If it is known and `entity.totalByteCount` is not,
    /// the body says nothing about the end: plan again.
    package var byteCount: Int64?
    /// How many of the first bytes are held already: they must be the same, and are not written again.  All of them where
    /// the part brings nothing else.
    package var overlapByteCount: Int64
    /// What to record of the file before the first byte is written.
    package var entity: Entity
    /// How the transfer begins, for the record and the wire.
    package var origin: TransferOrigin
    /// True when the bytes held belong to another version, or cannot be built on: forget them first.
    package var discardsHeld: Bool
    /// So many bytes must have come before they are forgotten; at most `Limits.probeByteCount`.
    package var awaitedByteCount: Int64 = 0
    /// True when they are to stay on disk beside the new ones all the same.
    package var keepsHeld = false
    /// True when the file is what the body decodes to.
    package var isDecoded = false
    /// The failure to report when the checksum does not name these encoded bytes, which nothing here can decode.
    package var codingFailure: DownloadFailure?
    /// False when a body that was cut off would look like one that ended.
    package var isLengthVerified: Bool
    /// True when an interruption is expected to cost nothing but what was on its way.
    package var isResumable: Bool

    package init(
        firstOffset: Int64,
        byteCount: Int64?,
        overlapByteCount: Int64 = 0,
        entity: Entity,
        origin: TransferOrigin,
        discardsHeld: Bool,
        isLengthVerified: Bool,
        isResumable: Bool
    ) {
        self.firstOffset = firstOffset
        self.byteCount = byteCount
        self.overlapByteCount = overlapByteCount
        self.entity = entity
        self.origin = origin
        self.discardsHeld = discardsHeld
        self.isLengthVerified = isLengthVerified
        self.isResumable = isResumable
    }
}

/// A failure that time may mend.
package struct RetryAdvice: Equatable, Sendable {
    /// What went wrong; always retryable.
    package var failure: DownloadFailure
    /// How long the server asks to wait; nil when it does not say.
    package var retryAfterMilliseconds: Int64?
    /// True when the server asks to slow down.
    package var isRateLimited: Bool

    package init(failure: DownloadFailure, retryAfterMilliseconds: Int64? = nil, isRateLimited: Bool = false) {
        self.failure = failure
        self.retryAfterMilliseconds = retryAfterMilliseconds
        self.isRateLimited = isRateLimited
    }
}

/// What becomes of a response, decided before the first byte of its body.
package enum GateDecision: Equatable, Sendable {
    /// Write the body as planned; if it overlaps what is held, only after a comparison: else `overlapDiffers`.
    case accept(BodyPlan)
    /// Ask there instead; the value of `Location`, which may be relative.  `RedirectPolicy` has to agree.
    case redirect(location: String)
    /// Nothing is missing, and what is held is the whole length: go on to verify and finish.
    /// The proof says what tells that the answer was about the file that is held.
    case finishedAlready(IdentityProof)
    /// Try again later.
    case retry(RetryAdvice)
    /// Ask for the whole file, now; remember in `RangeQuirks.rangesGivenUp`, and count a restart.
    case retryWithoutRange(TransferOrigin.Why)
    /// Ask for the same range without `If-Range`, now; remember in `RangeQuirks.isIfRangeBroken`, and count a restart.
    /// If the field is broken there, remember it of the origin too; else it told of a change that a checksum outranks.
    case retryWithoutIfRange(isBroken: Bool)
    /// Ask for the same range where the bytes that are held came from, now and once.
    case retryAtEarlierMirror
    /// The file is another one, or cannot be proven the same, and `onChange` forbids to drop what is held.
    case remoteChanged(TransferOrigin.Why)
    /// Only a new URL, or new credentials, can go on; what is held stays.
    case needsURL(DownloadFailure)
    /// No use in trying again.
    case fail(DownloadFailure)
}
