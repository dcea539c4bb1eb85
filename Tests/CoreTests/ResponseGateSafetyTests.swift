import Testing

@testable import Core

/// Thousands of random heads beyond the tables: whatever is accepted must be safe.
@Suite struct ResponseGateSafetyTests {
    private static func pick<Value>(_ values: [Value], _ generator: inout SeededGenerator) -> Value {
        values[Int.random(in: values.indices, using: &generator)]
    }

    private static func randomHead(_ generator: inout SeededGenerator) -> ResponseHead {
        let status = pick([200, 206, 206, 206, 416, 203, 400, 412, 503, 302, 204], &generator)
        let choices: [(String, [String?])] = [
            (
                "Content-Range",
                [
                    nil, "bytes 50-199/200", "bytes 50-99/200", "bytes 0-199/200", "bytes 40-199/200",
                    "bytes 50-199/*", "bytes 50-249/*", "bytes 50-199/300", "bytes */200", "bytes */50", "50-199/200",
                    "x",
                ]
            ),
            ("Content-Length", [nil, "150", "200", "50", "0", "300", "x", "150, 150"]),
            ("ETag", [nil, Stage.etag, Stage.etag, "\"v2\"", "W/\"v1\""]),
            ("Last-Modified", [nil, Stage.lastModified, "x"]),
            ("Content-Type", [nil, "application/zip", "text/html", "multipart/byteranges"]),
            ("Content-Encoding", [nil, nil, "gzip", "identity"]),
            ("Transfer-Encoding", [nil, nil, "chunked"]),
            ("Accept-Ranges", [nil, "none", "bytes"]),
            ("Retry-After", [nil, "3"]),
            ("Location", [nil, "/x"]),
        ]
        var fields: [ResponseHead.Field] = []
        for (name, values) in choices {
            if let value = pick(values, &generator) { fields.append(.init(name, value)) }
        }
        return ResponseHead(status: status, httpVersion: pick([10, 11, 20], &generator), fields: fields)
    }

    private static func randomContext(_ generator: inout SeededGenerator) -> GateContext {
        Stage.resuming {
            $0.entity = pick([Stage.entity, Stage.entity, Stage.weakEntity, Stage.datedEntity, nil], &generator)
            $0.asked = pick(
                [
                    RangeRequest(lowerBound: 50, upperBound: 200, ifRange: $0.entity?.strongValidator),
                    RangeRequest(lowerBound: 50, ifRange: $0.entity?.strongValidator),
                    RangeRequest(lowerBound: 50, upperBound: 80), RangeRequest(lowerBound: 40, overlapByteCount: 10),
                    nil,
                ], &generator)
            $0.onChange = pick(OnChange.allCases, &generator)
            $0.resumePolicy = pick(ResumePolicy.allCases, &generator)
            $0.hasChecksum = Bool.random(using: &generator)
            $0.restartCount = Int.random(in: 0...Limits.restartCount, using: &generator)
            $0.quirks.isIfRangeBroken = Bool.random(using: &generator)
            $0.mirror = pick([.same, .same, .other, .otherWithEarlier], &generator)
        }
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func `nothing that is accepted can mix two versions`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<1_500 {
            let context = Self.randomContext(&generator)
            let head = Self.randomHead(&generator)
            let decision = ResponseGate.decide(context, head)
            if let flaw = Self.flaw(decision, context, head) {
                Issue.record("\(flaw): \(decision) for \(head) in \(context)")
            }
        }
    }

    private static func flaw(_ decision: GateDecision, _ context: GateContext, _ head: ResponseHead) -> String? {
        switch decision {
        case .accept(let plan): acceptanceFlaw(plan, context, head)
        case .retryWithoutRange, .retryWithoutIfRange:
            context.asked == nil || context.restartCount >= Limits.restartCount ? "asks without end" : nil
        case .finishedAlready: head.status == 416 ? nil : "finished by the wrong status"
        case .remoteChanged(.noValidator) where head.value("ETag") == nil || head.value("Last-Modified") == nil: nil
        case .remoteChanged: context.onChange == .fail ? nil : "does not restart"
        case .retryAtEarlierMirror: context.mirror == .otherWithEarlier ? nil : "asks a mirror without end"
        case .redirect, .retry, .needsURL, .fail: nil
        }
    }

    private static func acceptanceFlaw(_ plan: BodyPlan, _ context: GateContext, _ head: ResponseHead) -> String? {
        let isPart = head.status == 206
        guard isPart || head.status == 200 || head.status == 203 else { return "takes the body of a \(head.status)" }
        if head.value("Content-Encoding") == "gzip" {
            if isPart { return "takes part of a compressed file" }
            // Decoded bytes have another length than the body; only the length of the same version may be known.
            if plan.byteCount != nil || plan.entity.totalByteCount != nil,
                plan.byteCount != context.entity?.totalByteCount || plan.awaitedByteCount == 0
            {
                return "believes a compressed length"
            }
            if plan.isResumable { return "counts on ranges of a compressed file" }
        }
        if plan.discardsHeld {
            if plan.firstOffset != 0 { return "drops what is held, and starts in the middle" }
            return plan.origin.why == nil ? "drops what is held without a reason" : nil
        }
        // Bytes are added to the stored ones.
        guard isPart, let asked = context.asked else { return "adds what is no part" }
        let wanted = asked.lowerBound + asked.overlapByteCount
        let comparedEnd = plan.firstOffset + plan.overlapByteCount
        let isComparedOnly = plan.byteCount == plan.overlapByteCount && plan.overlapByteCount > 0
        if isComparedOnly ? comparedEnd > wanted : comparedEnd != wanted { return "adds at the wrong offset" }
        if let overlap = ByteRange(plan.firstOffset, comparedEnd), !context.held.contains(overlap) {
            return "compares with nothing"
        }
        if let upper = asked.upperBound, plan.firstOffset + (plan.byteCount ?? .max / 2) > upper {
            return "takes more than was asked for"
        }
        if let known = context.entity {
            // With a known length and `onChange: restart`, the checksum takes precedence over validators.
            let isJudgedByDigest = context.hasChecksum && context.onChange == .restart && known.totalByteCount != nil
            if let etag = head.value("ETag"), let held = known.etag, etag != held, !isJudgedByDigest {
                return "mixes two ETags"
            }
            if let date = head.value("Last-Modified"), let held = known.lastModified, date != held, !isJudgedByDigest {
                return "mixes two dates"
            }
            if known.totalByteCount != plan.entity.totalByteCount { return "changes a known length" }
        }
        let isTrusting = context.hasChecksum || context.resumePolicy == .trust
        let isProven = context.entity?.strongValidator != nil
        let isProbed = context.resumePolicy == .probe && plan.overlapByteCount > 0
        return isTrusting || isProven || isProbed ? nil : "adds without proof"
    }
}
