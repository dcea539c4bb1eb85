import Testing

@testable import Core

@Suite struct ResumePlannerTests {
    struct Input: Sendable {
        var entity: Entity? = Stage.entity
        var held = ByteRangeSet(0, 50)
        var policy = ResumePolicy.strict
        var hasChecksum = false
        var quirks = RangeQuirks()

        init(_ change: (inout Input) -> Void = { _ in }) { change(&self) }

        var plan: ResumePlan {
            ResumePlanner.plan(
                entity: entity, held: held, resumePolicy: policy, hasChecksum: hasChecksum, quirks: quirks)
        }
    }

    /// From the first missing byte on; all bytes stored before it are compared, as they are few.
    private static func rest(_ lower: Int64, _ upper: Int64?, _ ifRange: String? = Stage.etag) -> ResumePlan {
        .range(RangeRequest(lowerBound: 0, upperBound: upper, ifRange: ifRange, overlapByteCount: lower))
    }
    private static func much(_ change: (inout Input) -> Void = { _ in }) -> Input {
        Input {
            $0.entity?.totalByteCount = 2_000_000
            $0.held = ByteRangeSet(0, 1_000_000)
            change(&$0)
        }
    }
    private static func compared(_ overlap: Int64, upper: Int64? = 2_000_000) -> ResumePlan {
        .range(
            RangeRequest(
                lowerBound: 1_000_000 - overlap, upperBound: upper, ifRange: Stage.etag, overlapByteCount: overlap))
    }
    private static func probing(_ change: (inout Input) -> Void = { _ in }) -> Input {
        Input {
            $0.entity = Stage.weakEntity
            $0.policy = .probe
            change(&$0)
        }
    }
    private static let holes = ByteRangeSet([ByteRange(0, 50), ByteRange(80, 90)].compactMap { $0 })

    @Test(
        arguments: [
            Row("the rest", Input(), rest(50, 200)),
            Row("the rest of much", much(), compared(16_384)),
            Row("the rest of much, trusting", much { $0.policy = .trust }, compared(16_384)),
            Row(
                "the rest of much, length unknown", much { $0.entity?.totalByteCount = nil },
                compared(16_384, upper: nil)),
            Row("behind a small part", much { $0.quirks.maxOverlapByteCount = 100 }, compared(100)),
            Row("compared in part", much { $0.quirks.comparedEnd = 999_900 }, compared(100)),
            Row("all compared", much { $0.quirks.comparedEnd = 1_000_000 }, compared(0)),
            Row("compared long ago", much { $0.quirks.comparedEnd = 900_000 }, compared(16_384)),
            Row("length unknown", Input { $0.entity?.totalByteCount = nil }, rest(50, nil)),
            Row("first gap", Input { $0.held = holes }, rest(50, 80)),
            Row(
                "first gap, length unknown",
                Input {
                    $0.held = holes
                    $0.entity?.totalByteCount = nil
                }, rest(50, 80)),
            Row("gap at the start", Input { $0.held = ByteRangeSet(50, 200) }, rest(0, 50)),
            Row("by date", Input { $0.entity = Stage.datedEntity }, rest(50, 200, Stage.lastModified)),
            Row("If-Range broken", Input { $0.quirks.isIfRangeBroken = true }, rest(50, 200, nil)),
            Row(
                "weak, checksum",
                Input {
                    $0.entity = Stage.weakEntity
                    $0.hasChecksum = true
                }, rest(50, 200, nil)),
            Row(
                "weak, trusting",
                Input {
                    $0.entity = Stage.weakEntity
                    $0.policy = .trust
                }, rest(50, 200, nil)),
            Row("strong, probing", Input { $0.policy = .probe }, rest(50, 200)),
            Row("weak, probing", probing(), .range(RangeRequest(lowerBound: 0, upperBound: 200, overlapByteCount: 50))),
            Row(
                "weak, probing, much held",
                probing {
                    $0.entity?.totalByteCount = 2_000_000
                    $0.held = ByteRangeSet(0, 1_000_000)
                }, .range(RangeRequest(lowerBound: 934_464, upperBound: 2_000_000, overlapByteCount: 65_536))),
            Row(
                "weak, probing, gap at the start", probing { $0.held = ByteRangeSet(50, 60) }, .whole(why: .noValidator)
            ),
            Row("weak, probing, no length", probing { $0.entity?.totalByteCount = nil }, .whole(why: .noValidator)),
            Row("nothing known, probing", probing { $0.entity = nil }, .whole(why: .noValidator)),
            Row("weak, probing, checksum", probing { $0.hasChecksum = true }, rest(50, 200, nil)),
            Row("weak, strict", Input { $0.entity = Stage.weakEntity }, .whole(why: .noValidator)),
            Row("nothing known", Input { $0.entity = nil }, .whole(why: .noValidator)),
            Row("HTTP/1.0", Input { $0.entity?.isHTTP11 = false }, .whole(why: .noValidator)),
            Row("ranges refused", Input { $0.entity?.refusesRanges = true }, .whole(why: .rangeIgnored)),
            Row("compressed file", Input { $0.entity?.contentEncoding = "gzip" }, .whole(why: .encodedResponse)),
            Row("given up", Input { $0.quirks.rangesGivenUp = .badRangeResponse }, .whole(why: .badRangeResponse)),
            Row("nothing held", Input { $0.held = ByteRangeSet() }, .whole(why: nil)),
            Row("all held", Input { $0.held = ByteRangeSet(0, 200) }, .nothingMissing),
            Row("more than all held", Input { $0.held = ByteRangeSet(0, 300) }, .nothingMissing),
            Row("empty file", Input { $0.entity?.totalByteCount = 0 }, .nothingMissing),
        ] as [Row<Input, ResumePlan>])
    func `the next request`(row: Row<Input, ResumePlan>) {
        #expect(row.input.plan == row.expected)
    }

    @Test(arguments: [1, 2] as [UInt64])
    func `answering each plan fills any holes, and only what is compared is asked for twice`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<200 {
            var input = Input()
            input.held = ByteRangeSet()
            for _ in 0..<5 {
                let lower = Int64.random(in: 0..<190, using: &generator)
                if let range = ByteRange(lower, lower + 10) { input.held.insert(range) }
            }
            var askedByteCount: Int64 = 0
            let missingByteCount = 200 - input.held.byteCount
            while case .range(let request) = input.plan {
                guard let upper = request.upperBound, let range = ByteRange(request.lowerBound, upper) else { break }
                #expect(input.held.intersection(ByteRangeSet([range])).byteCount == request.overlapByteCount)
                askedByteCount += range.byteCount - request.overlapByteCount
                input.held.insert(range)
            }
            #expect(input.plan == .nothingMissing)
            #expect(askedByteCount == missingByteCount)
        }
    }

    @Test func `a range is spelled with an inclusive end`() {
        #expect(RangeRequest(lowerBound: 50, upperBound: 200).fieldValue == "50-199")
        #expect(RangeRequest(lowerBound: 50).fieldValue == "50-")
    }
}

@Suite struct EntityTests {
    private static func likeness(_ change: (inout Entity) -> Void) -> (Entity, Entity) {
        var other = Stage.entity
        change(&other)
        return (Stage.entity, other)
    }
    private static let none = Entity(totalByteCount: 200)

    @Test(
        arguments: [
            Row("equal", likeness { _ in }, .same),
            Row("another ETag", likeness { $0.etag = "\"v2\"" }, .different(.validatorChanged)),
            Row("another date", likeness { $0.lastModified = "x" }, .different(.validatorChanged)),
            Row("another length", likeness { $0.totalByteCount = 1 }, .different(.totalChanged)),
            Row("length unknown", likeness { $0.totalByteCount = nil }, .same),
            Row("no date", likeness { $0.lastModified = nil }, .same),
            Row("no ETag, date equal", likeness { $0.etag = nil }, .same),
            Row(
                "nothing but the length",
                likeness {
                    $0.etag = nil
                    $0.lastModified = nil
                }, .unproven),
            Row("HTTP/1.0", likeness { $0.isHTTP11 = false }, .unproven),
            Row("weak ETags", (Stage.weakEntity, Stage.weakEntity), .unproven),
            Row("date alone", (Stage.datedEntity, Stage.datedEntity), .same),
            Row(
                "a young date",
                (Entity(lastModified: Stage.lastModified), Entity(lastModified: Stage.lastModified)), .unproven),
            Row("nothing known", (none, none), .unproven),
            Row(
                "one character, two spellings", (Entity(etag: "\"é\""), Entity(etag: "\"e\u{301}\"")),
                .different(.validatorChanged)),
        ] as [Row<(Entity, Entity), Entity.Likeness>])
    func `versions are told apart by all that both know`(row: Row<(Entity, Entity), Entity.Likeness>) {
        #expect(row.input.0.likeness(to: row.input.1) == row.expected)
    }

    @Test(
        arguments: [
            Row("a minute", (1_060, 1_000), true), Row("less", (1_059, 1_000), false),
            Row("future", (1_000, 2_000), false),
            Row("no date", (nil, 1_000), false), Row("no modification date", (1_000, nil), false),
            Row("overflow", (.max, .min), false),
        ] as [Row<(Int64?, Int64?), Bool>])
    func `a date is strong when it was a minute old`(row: Row<(Int64?, Int64?), Bool>) {
        let head = ResponseHead(
            status: 200, fields: [.init("Last-Modified", "x")], dateSeconds: row.input.0,
            lastModifiedSeconds: row.input.1)
        #expect(Entity(head, totalByteCount: nil).isLastModifiedStrong == row.expected)
    }

    @Test(
        arguments: [
            Row("strong", "\"a\"", true), Row("empty tag", "\"\"", true), Row("weak", "W/\"a\"", false),
            Row("bare", "a", false), Row("one quote", "\"", false), Row("inner quote", "\"a\"b\"", false),
            Row("blank within", "\"a b\"", false), Row("multipart upload", "\"d41d8-3\"", true),
        ] as [Row<String, Bool>])
    func `strong entity tags`(row: Row<String, Bool>) {
        #expect(EntityTag.isStrong(row.input) == row.expected)
    }

    @Test func `fields that are empty or too long count as absent`() {
        let long = "\"" + String(repeating: "x", count: Limits.entityFieldByteCount) + "\""
        let head = ResponseHead(status: 200, fields: [.init("ETag", long), .init("Content-Type", "")])
        let entity = Entity(head, totalByteCount: 1)
        #expect(entity.etag == nil)
        #expect(entity.contentType == nil)
    }
}
