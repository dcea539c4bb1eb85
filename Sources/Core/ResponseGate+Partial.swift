// 206: part of the file, which must be exactly the requested bytes of exactly the stored file.
extension ResponseGate {
    static func partialBody(_ context: GateContext, _ head: ResponseHead) -> GateDecision {
        let framing: BodyFraming
        do { framing = try BodyFraming(head) } catch { return fail(error) }

        let type = head.value("Content-Type").map(HTTPGrammar.mediaType)
        guard type != "multipart/byteranges",
            let parsed = try? ContentRange.parse(head.values("Content-Range")),
            let range = parsed.range,
            framing.byteCount == nil || framing.byteCount == range.byteCount
        else { return unusable(context, .badRangeResponse) }
        if !ContentCoding.inForce(head).isEmpty { return unusable(context, .encodedResponse) }

        let entity = Entity(head, totalByteCount: parsed.totalByteCount)
        if let tooLarge = sizeFailure(context, totalByteCount: parsed.totalByteCount ?? range.upperBound) {
            return tooLarge
        }
        guard let asked = context.asked else { return unaskedPartialBody(context, range, entity) }

        let proof: IdentityProof?
        switch identity(context, asked, entity) {
        case .proven(let found): proof = found
        case .obstacle(let decision): return decision
        }
        // The length is known: bytes after the end belong to another file.
        if let total = context.entity?.totalByteCount, range.upperBound > total {
            return changedWithoutBody(context, .totalChanged, status: 206)
        }
        // The first byte needed; caches that store blocks may begin earlier, at the start of a block.
        let wanted = asked.lowerBound + asked.overlapByteCount
        let overlapByteCount = wanted - range.lowerBound
        guard
            range.lowerBound == asked.lowerBound
                || range.lowerBound < asked.lowerBound && canCompare(context, from: range.lowerBound, overlapByteCount),
            range.upperBound > wanted || overlapByteCount > 0
        else { return unusable(context, .badRangeResponse) }
        // Nothing new: the comparison continues with the next part, unless the same request would repeat forever.
        let isComparedOnly = range.upperBound <= wanted
        if isComparedOnly, range.lowerBound != asked.lowerBound { return unusable(context, .badRangeResponse) }
        // A server may send more than requested; the rest is ignored.
        let upperBound = min(range.upperBound, asked.upperBound ?? range.upperBound)
        var plan = resumed(context, from: range.lowerBound, to: upperBound, entity)
        plan.overlapByteCount = isComparedOnly ? range.byteCount : overlapByteCount
        plan.origin.offset = range.lowerBound + plan.overlapByteCount
        plan.origin.identity = plan.origin.mode == .resumed ? proof : nil
        return .accept(plan)
    }

    /// Whether the bytes before the first one needed are few, and stored.
    private static func canCompare(_ context: GateContext, from offset: Int64, _ byteCount: Int64) -> Bool {
        guard byteCount <= Limits.probeByteCount, let overlap = ByteRange(offset, offset + byteCount) else {
            return false
        }
        return context.held.contains(overlap)
    }

    /// Whether the bytes may be joined with the stored ones.
    private enum Identity {
        /// They may; nil when nothing is stored.
        case proven(IdentityProof?)
        case obstacle(GateDecision)
    }

    private static func identity(_ context: GateContext, _ asked: RangeRequest, _ entity: Entity) -> Identity {
        guard let known = context.entity else {
            // Nothing is known about the stored bytes.
            if context.held.isEmpty { return .proven(nil) }
            if context.isTrusting { return .proven(context.proofWithoutValidator) }
            return .obstacle(askAgainWhole(context, .noValidator, status: 206))
        }
        switch known.likeness(to: entity) {
        case .same: return .proven(.validated)
        case .different where context.checksumOutranksValidators(of: known, entity): return .proven(.checksum)
        case .different(let why):
            let why = context.changed(why, from: known, to: entity)
            if why == .mirrorChanged, context.mirror == .otherWithEarlier { return .obstacle(.retryAtEarlierMirror) }
            return .obstacle(changedWithoutBody(context, why, status: 206))
        case .unproven:
            // A response to `If-Range` may omit Last-Modified (RFC 9110, 15.3.7), but so does one that ignores the
            // field: accepting it as proof could join two versions.
            if context.isTrusting { return .proven(context.proofWithoutValidator) }
            if context.proofWithoutValidator == .probed, asked.overlapByteCount > 0,
                known.totalByteCount != nil, entity.totalByteCount != nil
            {
                return .proven(.probed)
            }
            return .obstacle(askAgainWhole(context, .noValidator, status: 206))
        }
    }

    /// A 206 to a request without a range: only usable when it starts at offset 0.
    private static func unaskedPartialBody(
        _ context: GateContext, _ range: ByteRange, _ entity: Entity
    ) -> GateDecision {
        guard range.lowerBound == 0 else {
            return fail(.protocol, "The server sent part of the file although all was requested.", status: 206)
        }
        let plan = BodyPlan(
            firstOffset: 0,
            byteCount: range.byteCount,
            entity: entity,
            origin: TransferOrigin(mode: .fresh, offset: 0),
            discardsHeld: false,
            isLengthVerified: true,
            isResumable: context.canResume(entity)
        )
        if context.held.isEmpty { return .accept(plan) }
        return somethingElse(context, entity) ?? wholeOverHeld(context, plan)
    }

    private static func resumed(
        _ context: GateContext, from lowerBound: Int64, to upperBound: Int64, _ entity: Entity
    ) -> BodyPlan {
        // Stored bytes keep the entity they were fetched under; only an unknown length is added.
        var recorded = context.entity ?? entity
        recorded.totalByteCount = recorded.totalByteCount ?? entity.totalByteCount
        let mode: TransferOrigin.Mode = context.held.isEmpty ? .fresh : .resumed
        return BodyPlan(
            firstOffset: lowerBound,
            byteCount: upperBound - lowerBound,
            entity: recorded,
            origin: TransferOrigin(mode: mode, offset: lowerBound),
            discardsHeld: false,
            isLengthVerified: true,
            isResumable: context.canResume(recorded)
        )
    }

    /// A 206 that cannot be used as it is.
    private static func unusable(_ context: GateContext, _ why: TransferOrigin.Why) -> GateDecision {
        if context.asked == nil {
            return fail(.protocol, "The server sent an unusable part although all was requested.", status: 206)
        }
        return askAgainWhole(context, why, status: 206)
    }
}
