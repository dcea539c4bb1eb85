/// The next request of a download.
package enum ResumePlan: Equatable, Sendable {
    /// All bytes are stored.
    case nothingMissing
    /// The first gap.
    case range(RangeRequest)
    /// The whole file; `why` says why the stored bytes cannot be used, and is nil when there are none.
    case whole(why: TransferOrigin.Why?)
}

/// Decides whether and where to resume.
package enum ResumePlanner {
    /// The next request for a file of which `held` is stored.
    ///
    /// `entity` is nil while nothing is known.  `strict` resumes only with a strong validator or a checksum; `probe`
    /// also after a comparison; `trust` always.  With every policy the last stored bytes are requested again and
    /// compared: common servers give the same strong validator to two files of one second.
    package static func plan(
        entity: Entity?,
        held: ByteRangeSet,
        resumePolicy: ResumePolicy,
        hasChecksum: Bool,
        quirks: RangeQuirks = RangeQuirks()
    ) -> ResumePlan {
        let total = entity?.totalByteCount
        if let total, held.isComplete(total) { return .nothingMissing }
        if held.isEmpty { return .whole(why: nil) }
        if let why = reasonForWhole(
            entity: entity, resumePolicy: resumePolicy, hasChecksum: hasChecksum, quirks: quirks)
        {
            return .whole(why: why)
        }
        let gap = firstGap(of: held, totalByteCount: total)
        let ifRange = quirks.isIfRangeBroken ? nil : entity?.strongValidator
        var request = RangeRequest(lowerBound: gap.lower, upperBound: gap.upper, ifRange: ifRange)
        let isProbing = proof(of: entity, resumePolicy: resumePolicy, hasChecksum: hasChecksum) == .probed
        // When the length is unknown, the overlap also proves the end: a 416 would prove nothing.
        let overlap = isProbing ? Limits.probeByteCount : Limits.overlapByteCount
        var start = max(0, gap.lower - min(overlap, quirks.maxOverlapByteCount ?? overlap))
        // From a server that sends few bytes at once, the rest of the comparison comes with the next part.
        if let comparedEnd = quirks.comparedEnd, comparedEnd <= gap.lower { start = max(start, comparedEnd) }
        request.overlapByteCount = gap.lower - start
        request.lowerBound = start
        // Without bytes from offset 0 there is nothing to compare.
        if isProbing, request.overlapByteCount == 0 { return .whole(why: .noValidator) }
        return .range(request)
    }

    /// Why stored bytes cannot be used; nil when they can.
    static func reasonForWhole(
        entity: Entity?, resumePolicy: ResumePolicy, hasChecksum: Bool, quirks: RangeQuirks
    ) -> TransferOrigin.Why? {
        if let why = quirks.rangesGivenUp { return why }
        // Offsets in an encoded response differ from those in a plain one, which a later range may come from.
        if entity?.contentEncoding != nil { return .encodedResponse }
        if entity?.refusesRanges == true { return .rangeIgnored }
        return proof(of: entity, resumePolicy: resumePolicy, hasChecksum: hasChecksum) == nil ? .noValidator : nil
    }

    /// The proof for joining bytes of this entity; nil when there is none.
    static func proof(of entity: Entity?, resumePolicy: ResumePolicy, hasChecksum: Bool) -> IdentityProof? {
        if entity?.strongValidator != nil { return .validated }
        switch proofWithoutValidator(resumePolicy, hasChecksum: hasChecksum) {
        // Besides the overlap, the length must be known and equal.
        case .probed: return entity?.totalByteCount == nil ? nil : .probed
        case let proof: return proof
        }
    }

    /// The proof for joining bytes without a strong validator.
    ///
    /// A checksum takes precedence over the policy: it verifies the whole file.
    static func proofWithoutValidator(_ policy: ResumePolicy, hasChecksum: Bool) -> IdentityProof? {
        if hasChecksum { return .checksum }
        switch policy {
        case .strict: return nil
        case .probe: return .probed
        case .trust: return .trusted
        }
    }

    private static func firstGap(
        of held: ByteRangeSet, totalByteCount: Int64?
    ) -> (lower: Int64, upper: Int64?) {
        let lower = held.contiguousByteCount
        let nextHeld = held.ranges.first { $0.lowerBound > lower }?.lowerBound
        guard let totalByteCount else { return (lower, nextHeld) }
        // A closed end, because some registries refuse an open one.
        return (lower, min(nextHeld ?? totalByteCount, totalByteCount))
    }
}
