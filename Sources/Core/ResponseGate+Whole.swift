// 200: the whole file from its first byte, whatever was requested.
extension ResponseGate {
    static func wholeBody(_ context: GateContext, _ head: ResponseHead) -> GateDecision {
        let framing: BodyFraming
        do { framing = try BodyFraming(head) } catch { return fail(error) }

        if claimsToBePartial(head, framing) {
            guard context.asked != nil else {
                return fail(.protocol, "The server sent part of the file although all was requested.", status: 200)
            }
            return askAgainWhole(context, .badRangeResponse, status: head.status)
        }

        var entity = Entity(head, totalByteCount: framing.byteCount)
        let compression = ContentCoding.compression(head, evidence: context.codingEvidence)
        // The length is that of the compressed bytes, which says nothing about stored decoded bytes.
        if compression != nil, context.entity?.contentEncoding != nil { entity.totalByteCount = nil }
        if let refusal = somethingElse(context, entity) { return refusal }
        if compression != nil { entity.totalByteCount = nil }
        let codingFailure = codingFailure(context, head)
        if let codingFailure, !mayBeTheFile(context, entity) { return .fail(codingFailure) }
        if let tooLarge = sizeFailure(context, totalByteCount: entity.totalByteCount) { return tooLarge }

        var fresh = BodyPlan(
            firstOffset: 0,
            byteCount: entity.totalByteCount,
            entity: entity,
            origin: TransferOrigin(mode: .fresh, offset: 0),
            discardsHeld: false,
            // A compressed stream marks its own end.
            isLengthVerified: framing.isEndProven || compression != nil,
            isResumable: context.canResume(entity)
        )
        fresh.isDecoded = compression != nil
        fresh.codingFailure = codingFailure
        return context.held.isEmpty ? .accept(fresh) : wholeOverHeld(context, fresh)
    }

    /// Why the body cannot be decoded; nil if it can be, or is the file as it is.
    ///
    /// With a checksum this is not final: the checksum may be that of the encoded bytes.
    private static func codingFailure(_ context: GateContext, _ head: ResponseHead) -> DownloadFailure? {
        let codings = ContentCoding.inForce(head)
        guard !codings.isEmpty, !ContentCoding.labelsFile(head, context.codingEvidence),
            ContentCoding.compression(head, evidence: context.codingEvidence) == nil
        else { return nil }
        let message =
            "The server compressed the response (\(codings.joined(separator: ", "))), although the request did not allow it."
        return DownloadFailure(.protocol, message, isRetryable: false, httpStatus: head.status)
    }

    /// Whether encoded bytes that cannot be decoded could match the checksum, and would only replace bytes of the same
    /// coding.
    private static func mayBeTheFile(_ context: GateContext, _ entity: Entity) -> Bool {
        context.hasChecksum && (context.held.isEmpty || context.entity?.contentEncoding == entity.contentEncoding)
    }

    /// A whole body when bytes are stored.
    static func wholeOverHeld(_ context: GateContext, _ plan: BodyPlan) -> GateDecision {
        switch context.entity?.likeness(to: plan.entity) ?? .unproven {
        case .different(let why):
            if isRemainder(context, plan.byteCount) { return askAgainWhole(context, .badRangeResponse, status: 200) }
            if mayAskWithoutIfRange(context, plan), let known = context.entity,
                context.checksumOutranksValidators(of: known, plan.entity)
            {
                return .retryWithoutIfRange(isBroken: false)
            }
            let why = context.entity.map { context.changed(why, from: $0, to: plan.entity) } ?? why
            if why == .mirrorChanged, context.mirror == .otherWithEarlier, context.asked != nil {
                return .retryAtEarlierMirror
            }
            return restart(context, plan, why: why, isSameFile: false)
        case _ where context.quirks.rangesGivenUp == .overlapDiffers:
            // The validator may be the same, but the bytes differ.
            return restart(context, plan, why: .overlapDiffers, isSameFile: false)
        case .same:
            if mayAskWithoutIfRange(context, plan) { return .retryWithoutIfRange(isBroken: true) }
            return restart(context, asLongAsKnown(context, plan), why: reasonForSame(context), isSameFile: true)
        case .unproven where context.isTrusting:
            return restart(context, plan, why: reasonForSame(context), isSameFile: true)
        case .unproven:
            // After `If-Range`, a 200 without proof means that the validator no longer matches.
            let why: TransferOrigin.Why =
                context.asked?.ifRange != nil ? .validatorChanged : context.quirks.rangesGivenUp ?? .noValidator
            return restart(context, plan, why: why, isSameFile: false)
        }
    }

    /// The same version has the same length, even when this response does not send it. The stored bytes are discarded
    /// once enough has arrived that the body looks like the file.
    private static func asLongAsKnown(_ context: GateContext, _ plan: BodyPlan) -> BodyPlan {
        guard plan.byteCount == nil, let total = context.entity?.totalByteCount else { return plan }
        var plan = plan
        plan.byteCount = total
        plan.entity.totalByteCount = total
        plan.awaitedByteCount = min(total, Limits.probeByteCount)
        return plan
    }

    /// True when the same range without `If-Range` may be answered with a part.
    private static func mayAskWithoutIfRange(_ context: GateContext, _ plan: BodyPlan) -> Bool {
        let refuses = plan.entity.refusesRanges || context.entity?.refusesRanges == true
        return context.asked?.ifRange != nil && !context.quirks.isIfRangeBroken && !refuses
            && context.restartCount < Limits.restartCount
    }

    /// Replaces the stored bytes with the body from its first byte, if `onChange` allows it.
    private static func restart(
        _ context: GateContext, _ plan: BodyPlan, why: TransferOrigin.Why, isSameFile: Bool
    ) -> GateDecision {
        if !isSameFile, context.onChange == .fail { return .remoteChanged(why) }
        if why.isChange, !isSameFile, context.asked != nil, context.restartCount >= Limits.restartCount {
            return changesTooOften
        }
        var plan = plan
        plan.origin = TransferOrigin(mode: .restarted, offset: 0, why: why)
        plan.discardsHeld = true
        plan.keepsHeld = !isSameFile && context.onChange == .keepBoth
        if why == .rangeIgnored { plan.isResumable = false }
        return .accept(plan)
    }

    /// Why the same file is sent whole.
    private static func reasonForSame(_ context: GateContext) -> TransferOrigin.Why {
        if context.asked != nil { return .rangeIgnored }
        return ResumePlanner.reasonForWhole(
            entity: context.entity, resumePolicy: context.resumePolicy, hasChecksum: context.hasChecksum,
            quirks: context.quirks) ?? .rangeIgnored
    }

    /// True when the length is that of a range up to the end: a wrong status is more likely than a new file.
    static func isRemainder(_ context: GateContext, _ byteCount: Int64?) -> Bool {
        guard let asked = context.asked, asked.lowerBound > 0, let length = byteCount,
            let total = context.entity?.totalByteCount
        else { return false }
        return length == total - asked.lowerBound
    }

    /// True for a 200 whose `Content-Range` and length agree that the body is only part of the file.
    private static func claimsToBePartial(_ head: ResponseHead, _ framing: BodyFraming) -> Bool {
        guard let claim = try? ContentRange.parse(head.values("Content-Range")), let range = claim.range else {
            return false
        }
        if range.lowerBound == 0, range.upperBound == claim.totalByteCount ?? framing.byteCount { return false }
        // With the whole length, the field only does not belong there.
        return framing.byteCount == nil || framing.byteCount != claim.totalByteCount
    }
}
