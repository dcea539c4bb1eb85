/// What to ask for next.
package enum ResumePlan: Equatable, Sendable {
    /// All bytes are held.
    case nothingMissing
    /// The first gap.
    case range(RangeRequest)
    /// The whole file; `why` says why the bytes held cannot be built on, and is nil when none are.
    case whole(why: TransferOrigin.Why?)
}

/// Decides whether to go on from what is held, and where.
package enum ResumePlanner {
    /// The next request for a file of which `held` is there.
    ///
    /// `entity` is nil while nothing is known.  With `strict` only a strong validator or a checksum makes bytes worth going
    /// on from; `probe` takes a comparison for enough; `trust` goes on from anything.  Whatever the policy, the end of what
    /// is held is asked for once more and compared: the common servers give one strong validator to two files of a second.
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
        // With a length that is not known it also proves the end: a 416 would prove nothing.
        let overlap = isProbing ? Limits.probeByteCount : Limits.overlapByteCount
        var start = max(0, gap.lower - min(overlap, quirks.maxOverlapByteCount ?? overlap))
        // From a server that sends few bytes at once the rest of what is to be compared comes with the next part.
        if let comparedEnd = quirks.comparedEnd, comparedEnd <= gap.lower { start = max(start, comparedEnd) }
        request.overlapByteCount = gap.lower - start
        request.lowerBound = start
        // A file that does not begin with bytes that are held has nothing to compare.
        if isProbing, request.overlapByteCount == 0 { return .whole(why: .noValidator) }
        return .range(request)
    }

    /// Why bytes that are held cannot be built on; nil when they can.
    static func reasonForWhole(
        entity: Entity?, resumePolicy: ResumePolicy, hasChecksum: Bool, quirks: RangeQuirks
    ) -> TransferOrigin.Why? {
        if let why = quirks.rangesGivenUp { return why }
        // The offsets of an encoded answer are not those of the plain one, which a range may come from.
        if entity?.contentEncoding != nil { return .encodedResponse }
        if entity?.refusesRanges == true { return .rangeIgnored }
        return proof(of: entity, resumePolicy: resumePolicy, hasChecksum: hasChecksum) == nil ? .noValidator : nil
    }

    /// What bytes of this entity can be joined on; nil when nothing would do.
    static func proof(of entity: Entity?, resumePolicy: ResumePolicy, hasChecksum: Bool) -> IdentityProof? {
        if entity?.strongValidator != nil { return .validated }
        switch proofWithoutValidator(resumePolicy, hasChecksum: hasChecksum) {
        // Besides the overlap, the length must be known to agree.
        case .probed: return entity?.totalByteCount == nil ? nil : .probed
        case let proof: return proof
        }
    }

    /// What bytes may be joined on where no strong validator tells that they belong together.
    ///
    /// A checksum outranks the policy: it judges the whole in the end.
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
        // A closed end: some registries refuse an open one.
        return (lower, min(nextHeld ?? totalByteCount, totalByteCount))
    }
}
