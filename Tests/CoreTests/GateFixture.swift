@testable import Core

/// 200 bytes with a strong ETag, of which 50 are stored: the start of most gate tables.
enum Stage {
    static let etag = "\"v1\""
    static let lastModified = "Mon, 01 Jan 2024 00:00:00 GMT"

    static let entity = Entity(
        totalByteCount: 200, etag: etag, lastModified: lastModified, contentType: "application/zip",
        isLastModifiedStrong: true)
    static let weakEntity = Entity(totalByteCount: 200, etag: "W/\"v1\"", contentType: "application/zip")
    static let datedEntity = Entity(totalByteCount: 200, lastModified: lastModified, isLastModifiedStrong: true)

    /// Requests the rest, with `If-Range`.
    static let resuming = GateContext(
        entity: entity, held: ByteRangeSet(0, 50),
        asked: RangeRequest(lowerBound: 50, upperBound: 200, ifRange: etag))

    static func resuming(of start: GateContext = resuming, _ change: (inout GateContext) -> Void) -> GateContext {
        var context = start
        change(&context)
        return context
    }

    /// A head whose fields are `name: value` pairs; the entity's own are added unless `bare`.
    static func head(
        _ status: Int, _ fields: [String: String] = [:], bare: Bool = false, version: Int = 11
    ) -> ResponseHead {
        var all = fields
        if !bare {
            all["ETag"] = all["ETag"] ?? etag
            all["Last-Modified"] = all["Last-Modified"] ?? lastModified
            all["Content-Type"] = all["Content-Type"] ?? "application/zip"
        }
        return ResponseHead(
            status: status, httpVersion: version,
            fields: all.sorted { $0.key < $1.key }.map { .init($0.key, $0.value) },
            dateSeconds: 1_800_000_000, lastModifiedSeconds: 1_704_067_200)
    }

    /// A 206 with the right range.
    static func part(_ fields: [String: String], bare: Bool = false) -> ResponseHead {
        part("bytes 50-199/200", length: "150", fields, bare: bare)
    }

    static func part(
        _ range: String = "bytes 50-199/200", length: String? = "150", _ fields: [String: String] = [:],
        bare: Bool = false
    ) -> ResponseHead {
        var all = fields
        all["Content-Range"] = range
        if let length { all["Content-Length"] = length }
        return head(206, all, bare: bare)
    }
}

/// The main content of a decision, short enough for a table.
enum Verdict: Equatable, Sendable {
    case fresh(Int64?)
    case resumed(Int64, Int64)
    /// Resumed after a comparison: the offset of the body, how many bytes are compared, how many are new.
    case compared(Int64, overlap: Int64, new: Int64)
    case restarted(TransferOrigin.Why)
    case restartedBeside(TransferOrigin.Why)
    case redirect(String)
    case finished(IdentityProof)
    case retry(FailureKind, Int64?)
    case withoutRange(TransferOrigin.Why)
    case withoutIfRange
    case withoutIfRangeByChecksum
    case atEarlierMirror
    case changed(TransferOrigin.Why)
    case needsURL
    case fail(FailureKind)
    case odd

    init(_ decision: GateDecision) {
        switch decision {
        case .accept(let plan): self = Self.accepted(plan)
        case .redirect(let location): self = .redirect(location)
        case .finishedAlready(let proof): self = .finished(proof)
        case .retry(let advice):
            let isRateLimited = advice.failure.kind == .rateLimited
            self =
                isRateLimited == advice.isRateLimited
                ? .retry(advice.failure.kind, advice.retryAfterMilliseconds) : .odd
        case .retryWithoutRange(let why): self = .withoutRange(why)
        case .retryWithoutIfRange(let isBroken): self = isBroken ? .withoutIfRange : .withoutIfRangeByChecksum
        case .retryAtEarlierMirror: self = .atEarlierMirror
        case .remoteChanged(let why): self = .changed(why)
        case .needsURL(let failure): self = failure.kind == .urlExpired ? .needsURL : .odd
        case .fail(let failure): self = .fail(failure.kind)
        }
    }

    private static func accepted(_ plan: BodyPlan) -> Verdict {
        switch plan.origin.mode {
        case .fresh where plan.firstOffset == 0 && !plan.discardsHeld: .fresh(plan.byteCount)
        case .resumed where plan.origin.offset != plan.firstOffset + plan.overlapByteCount || plan.discardsHeld: .odd
        case .resumed where plan.overlapByteCount == 0: .resumed(plan.firstOffset, plan.byteCount ?? -1)
        case .resumed:
            .compared(
                plan.firstOffset, overlap: plan.overlapByteCount, new: (plan.byteCount ?? -1) - plan.overlapByteCount)
        case .restarted where plan.keepsHeld && plan.firstOffset == 0 && plan.discardsHeld:
            plan.origin.why.map(Verdict.restartedBeside) ?? .odd
        case .restarted where plan.firstOffset == 0 && plan.discardsHeld: plan.origin.why.map(Verdict.restarted) ?? .odd
        default: .odd
        }
    }
}

typealias GateRow = Row<(GateContext, ResponseHead), Verdict>

func gateRow(_ name: String, _ context: GateContext, _ head: ResponseHead, _ verdict: Verdict) -> GateRow {
    GateRow(name, (context, head), verdict)
}

func verdict(_ row: GateRow) -> Verdict { Verdict(ResponseGate.decide(row.input.0, row.input.1)) }
