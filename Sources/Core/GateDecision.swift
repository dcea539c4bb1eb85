/// The host that answered, compared with the host that the stored bytes came from.
package enum Mirror: Equatable, Sendable {
    /// The same host, or there were no redirects.
    case same
    /// Another host; one more request may go to the earlier host.
    case otherWithEarlier
    /// Another host; asking the earlier host cannot help.
    case other
}

/// What the gate knows besides the response.
package struct GateContext: Equatable, Sendable {
    /// The entity in the record; nil before the first response was accepted.
    package var entity: Entity?
    /// The stored bytes.
    package var held: ByteRangeSet
    /// The requested range; nil for the whole file.
    package var asked: RangeRequest?
    /// What to do when the file has changed, or cannot be proven the same.
    package var onChange: OnChange
    /// How much proof is needed to join bytes.
    package var resumePolicy: ResumePolicy
    /// True when the finished file has a checksum: then no strong validator is needed to join bytes.
    package var hasChecksum: Bool
    /// The size limit in bytes; nil for none.
    package var maxFileByteCount: Int64?
    /// Helps to tell a compressed file from a compressed response.
    package var codingEvidence: ContentCoding.Evidence
    /// The wall clock in seconds since 1970, for a date in `Retry-After`.
    package var nowSeconds: Int64
    /// How often this run already restarted, or asked again, because of a decision of the gate.
    package var restartCount: Int
    /// What is known about this origin's handling of ranges.
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
    /// How many bytes to take: more are ignored, fewer are an incomplete body; nil takes all until the end.
    ///
    /// If this is nil, the end of the body is the end of the file.  If this is known and `entity.totalByteCount` is
    /// not, the body does not show where the file ends: plan again.
    package var byteCount: Int64?
    /// How many of the first bytes are already stored: they must be equal and are not written again. This is the whole
    /// body when it contains nothing new.
    package var overlapByteCount: Int64
    /// What to record about the file before the first byte is written.
    package var entity: Entity
    /// How the transfer begins, for the record and the wire.
    package var origin: TransferOrigin
    /// True when the stored bytes belong to another version or cannot be used: discard them first.
    package var discardsHeld: Bool
    /// This many bytes must arrive before the stored ones are discarded; at most `Limits.probeByteCount`.
    package var awaitedByteCount: Int64 = 0
    /// True when the discarded bytes stay on disk in a file of their own.
    package var keepsHeld = false
    /// True when the file is the decoded body.
    package var isDecoded = false
    /// The failure to report when the checksum does not match these encoded bytes, which cannot be decoded.
    package var codingFailure: DownloadFailure?
    /// False when a cut-off body would look like a complete one.
    package var isLengthVerified: Bool
    /// True when a later interruption is expected to lose only the bytes in transit.
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

/// A failure that may pass with time.
package struct RetryAdvice: Equatable, Sendable {
    /// What went wrong; always retryable.
    package var failure: DownloadFailure
    /// How long the server asks to wait; nil when it does not say.
    package var retryAfterMilliseconds: Int64?
    /// True when the server asks for fewer requests.
    package var isRateLimited: Bool

    package init(failure: DownloadFailure, retryAfterMilliseconds: Int64? = nil, isRateLimited: Bool = false) {
        self.failure = failure
        self.retryAfterMilliseconds = retryAfterMilliseconds
        self.isRateLimited = isRateLimited
    }
}

/// What happens with a response, decided before the first byte of its body.
package enum GateDecision: Equatable, Sendable {
    /// Write the body as planned; if it overlaps stored bytes, compare first and call `overlapDiffers` when they
    /// differ.
    case accept(BodyPlan)
    /// Send the request to this value of `Location`, which may be relative, if `RedirectPolicy` allows it.
    case redirect(location: String)
    /// Nothing is missing and the length is known: verify and finish. The proof says why the response is about the
    /// stored file.
    case finishedAlready(IdentityProof)
    /// Try again later.
    case retry(RetryAdvice)
    /// Ask for the whole file now; set `RangeQuirks.rangesGivenUp` and count a restart.
    case retryWithoutRange(TransferOrigin.Why)
    /// Ask for the same range without `If-Range` now; set `RangeQuirks.isIfRangeBroken` and count a restart. If
    /// `isBroken`, remember it for the origin too; otherwise the checksum takes precedence over the changed validator.
    case retryWithoutIfRange(isBroken: Bool)
    /// Ask once, now, for the same range at the host that the stored bytes came from.
    case retryAtEarlierMirror
    /// The file has changed or cannot be proven the same, and `onChange` forbids discarding the stored bytes.
    case remoteChanged(TransferOrigin.Why)
    /// The download needs a new URL or new credentials; the stored bytes are kept.
    case needsURL(DownloadFailure)
    /// A retry is of no use.
    case fail(DownloadFailure)
}
