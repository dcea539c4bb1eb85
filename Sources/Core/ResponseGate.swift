/// Decides how a response is used before the first byte of its body; no byte reaches a file without it.
///
/// By status, then by comparing the head with what is stored (RFC 9110, and what servers get wrong).
package enum ResponseGate {
    /// The decision for the head of a final response.
    package static func decide(_ context: GateContext, _ head: ResponseHead) -> GateDecision {
        switch head.status {
        case 200, 203: wholeBody(context, head)
        case 206: partialBody(context, head)
        case 301, 302, 303, 307, 308: redirect(head)
        case 400 where context.asked != nil: askAgainWhole(context, .rangeRejected, status: 400)
        case 401, 403, 410: refused(context, head)
        case 407: fail(.proxy, "The proxy requires credentials.", status: 407)
        case 412 where context.asked != nil: changedWithoutBody(context, .validatorChanged, status: 412)
        case 416: unsatisfiable(context, head)
        case let status where RetryPolicy.isTransient(status: status): transient(context, head)
        default: unexpected(head)
        }
    }

    /// Redirects need exactly one target (RFC 9110, 15.4).
    private static func redirect(_ head: ResponseHead) -> GateDecision {
        switch RedirectPolicy.location(head) {
        case .success(let location): .redirect(location: location)
        case .failure(let failure): .fail(failure)
        }
    }

    /// 401, 403 and 410: when bytes are stored, the link has probably expired.
    private static func refused(_ context: GateContext, _ head: ResponseHead) -> GateDecision {
        let message = "The server answered \(head.status)."
        if context.held.isEmpty { return fail(.httpStatus, message, status: head.status) }
        return .needsURL(
            DownloadFailure(
                .urlExpired, "\(message) The stored bytes are kept for a new URL or new headers.", isRetryable: false,
                httpStatus: head.status))
    }

    /// 416: evidence, never success by itself (RFC 9110, 15.5.17).
    private static func unsatisfiable(_ context: GateContext, _ head: ResponseHead) -> GateDecision {
        guard let asked = context.asked else {
            return fail(.rangeUnsupported, "The server refused a range that was not requested.", status: 416)
        }
        guard let range = try? ContentRange.parse(head.values("Content-Range")), range.range == nil,
            let total = range.totalByteCount, !context.held.isEmpty
        else { return askAgainWhole(context, .rangeRejected, status: 416) }

        let known = context.entity?.totalByteCount
        if known.map({ $0 != total }) ?? false || context.held.clipped(to: total) != context.held {
            return changedWithoutBody(context, .totalChanged, status: 416)
        }
        // `If-Range` is evaluated before `Range`: with another validator, the response would have been 200.
        let proof = asked.ifRange != nil ? .validated : context.isTrusting ? context.proofWithoutValidator : nil
        if let proof, known != nil, context.held.isComplete(total) { return .finishedAlready(proof) }
        return askAgainWhole(context, .rangeRejected, status: 416)
    }

    /// Statuses that may pass with time.
    private static func transient(_ context: GateContext, _ head: ResponseHead) -> GateDecision {
        let wait = RetryAfter.milliseconds(head, nowSeconds: context.nowSeconds)
        let isRateLimited = head.status == 429 || (head.status == 503 && wait != nil)
        let failure = DownloadFailure(
            isRateLimited ? .rateLimited : .httpStatus, "The server answered \(head.status).", isRetryable: true,
            httpStatus: head.status)
        return .retry(RetryAdvice(failure: failure, retryAfterMilliseconds: wait, isRateLimited: isRateLimited))
    }

    private static func unexpected(_ head: ResponseHead) -> GateDecision {
        switch head.status {
        case 204, 205, 304:
            fail(.httpStatus, "The server answered \(head.status), which carries no file.", status: head.status)
        case 100..<200:
            fail(.protocol, "The server sent an interim response instead of a final one.", status: head.status)
        default:
            fail(.httpStatus, "The server answered \(head.status).", status: head.status)
        }
    }
}

// Shared by several statuses.
extension ResponseGate {
    /// The range cannot be used: ask for the whole file, unless that was tried too often.
    static func askAgainWhole(_ context: GateContext, _ why: TransferOrigin.Why, status: Int) -> GateDecision {
        if context.asked != nil, context.restartCount < Limits.restartCount { return .retryWithoutRange(why) }
        if why.isChange { return changesTooOften }
        return fail(.rangeUnsupported, "The server's answers to range requests cannot be used.", status: status)
    }

    /// Another version, in a response whose body cannot be used.
    static func changedWithoutBody(_ context: GateContext, _ why: TransferOrigin.Why, status: Int) -> GateDecision {
        if context.held.isEmpty { return askAgainWhole(context, why, status: status) }
        switch context.onChange {
        case .restart, .keepBoth: return askAgainWhole(context, why, status: status)
        case .fail: return .remoteChanged(why)
        }
    }

    static func fail(_ kind: FailureKind, _ message: String, status: Int? = nil) -> GateDecision {
        .fail(DownloadFailure(kind, message, isRetryable: false, httpStatus: status))
    }

    static func fail(_ field: MalformedField) -> GateDecision {
        fail(.protocol, "The server's \(field.name) \(field.rule).")
    }

    static var changesTooOften: GateDecision {
        fail(.remoteChanged, "The server's file changed too often while it was downloaded.")
    }

    /// The decision for a body whose first bytes differ from the stored ones.
    package static func overlapDiffers(_ context: GateContext) -> GateDecision {
        // A part that starts earlier than requested is probably labelled wrongly.
        guard let asked = context.asked, asked.overlapByteCount > 0 else {
            return askAgainWhole(context, .badRangeResponse, status: 206)
        }
        return changedWithoutBody(context, .overlapDiffers, status: 206)
    }

    /// Fails when the length exceeds the size limit.
    static func sizeFailure(_ context: GateContext, totalByteCount: Int64?) -> GateDecision? {
        guard let limit = context.maxFileByteCount, let totalByteCount, totalByteCount > limit else { return nil }
        return fail(.sizeLimit, "The file has \(totalByteCount) bytes; the limit is \(limit).")
    }
}

extension TransferOrigin.Why {
    /// True when the file has changed; false when the server cannot send part of it.
    package var isChange: Bool {
        switch self {
        case .validatorChanged, .totalChanged, .overlapDiffers, .mirrorChanged: true
        case .rangeIgnored, .rangeRejected, .badRangeResponse, .noValidator, .partialMissing, .partialDamaged,
            .encodedResponse, .checksumMismatch, .checksum, .record, .notModified, .sameLengthAndTime:
            false
        }
    }
}

extension GateContext {
    /// The proof for joining bytes without a strong validator.
    var proofWithoutValidator: IdentityProof? {
        ResumePlanner.proofWithoutValidator(resumePolicy, hasChecksum: hasChecksum)
    }

    /// True when bytes may be joined without a strong validator and without a comparison.
    var isTrusting: Bool {
        switch proofWithoutValidator {
        case .checksum, .trusted: true
        case .validated, .probed, nil: false
        }
    }

    /// The meaning of changed validators: perhaps only that another mirror answered.
    func changed(_ why: TransferOrigin.Why, from known: Entity, to entity: Entity) -> TransferOrigin.Why {
        guard why == .validatorChanged, mirror != .same, let total = known.totalByteCount,
            total == entity.totalByteCount
        else { return why }
        return .mirrorChanged
    }

    /// True when the checksum decides although validators differ: servers behind one name often send different ones for
    /// the same bytes.  Only when the stored bytes may be discarded, in case the file did change.
    func checksumOutranksValidators(of known: Entity, _ entity: Entity) -> Bool {
        guard hasChecksum, onChange == .restart, let total = known.totalByteCount else { return false }
        return total == entity.totalByteCount
    }

    /// Whether a later interruption could resume from the bytes of this entity.
    func canResume(_ entity: Entity) -> Bool {
        ResumePlanner.reasonForWhole(
            entity: entity, resumePolicy: resumePolicy, hasChecksum: hasChecksum, quirks: quirks) == nil
    }
}
