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
    /// `entity` is nil while nothing is known.  With `strict` and `probe` only a strong validator or a checksum
    /// makes bytes worth going on from; `trust` always does.
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
        return .range(RangeRequest(lowerBound: gap.lower, upperBound: gap.upper, ifRange: ifRange))
    }

    /// Why bytes that are held cannot be built on; nil when they can.
    static func reasonForWhole(
        entity: Entity?, resumePolicy: ResumePolicy, hasChecksum: Bool, quirks: RangeQuirks
    ) -> TransferOrigin.Why? {
        if let why = quirks.rangesGivenUp { return why }
        // The offsets of an encoded answer are not those of the plain one, which a range may come from.
        if entity?.contentEncoding != nil { return .encodedResponse }
        if entity?.refusesRanges == true { return .rangeIgnored }
        if entity?.strongValidator == nil, !isTrusting(resumePolicy, hasChecksum: hasChecksum) { return .noValidator }
        return nil
    }

    /// True when bytes may be joined without a strong validator: a digest will tell, or the host takes the risk.
    static func isTrusting(_ policy: ResumePolicy, hasChecksum: Bool) -> Bool {
        switch policy {
        case .trust: true
        case .strict, .probe: hasChecksum
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
