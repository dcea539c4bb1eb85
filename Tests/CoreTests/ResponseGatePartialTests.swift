import Testing

@testable import Core

@Suite struct ResponseGatePartialTests {
    private static let asked = Stage.resuming

    @Test(arguments: [
        gateRow("right", asked, Stage.part(), .resumed(50, 150)),
        gateRow("right, no length field", asked, Stage.part(length: nil), .resumed(50, 150)),
        gateRow(
            "right, chunked", asked, Stage.part(length: nil, ["Transfer-Encoding": "chunked"]), .resumed(50, 150)),
        gateRow("no unit", asked, Stage.part("50-199/200"), .resumed(50, 150)),
        gateRow("equals sign", asked, Stage.part("bytes=50-199/200"), .resumed(50, 150)),
        gateRow("unknown total", asked, Stage.part("bytes 50-199/*"), .resumed(50, 150)),
        gateRow("subset", asked, Stage.part("bytes 50-99/200", length: "50"), .resumed(50, 50)),
        gateRow("one byte", asked, Stage.part("bytes 50-50/200", length: "1"), .resumed(50, 1)),
        gateRow("identity named", asked, Stage.part(["Content-Encoding": "identity"]), .resumed(50, 150)),
    ])
    func `a right part is taken`(row: GateRow) {
        #expect(verdict(row) == row.expected)
    }

    @Test(arguments: [
        gateRow(
            "no Content-Range", asked, Stage.head(206, ["Content-Length": "150"]), .withoutRange(.badRangeResponse)),
        gateRow("starts late", asked, Stage.part("bytes 60-199/200", length: "140"), .withoutRange(.badRangeResponse)),
        gateRow(
            "starts early, and ends before what is wanted", asked, Stage.part("bytes 40-49/200", length: "10"),
            .withoutRange(.badRangeResponse)),
        gateRow(
            "starts early, where nothing is held", Stage.resuming { $0.held = ByteRangeSet(45, 50) },
            Stage.part("bytes 40-199/200", length: "160"), .withoutRange(.badRangeResponse)),
        gateRow("body of the whole file", asked, Stage.part(length: "200"), .withoutRange(.badRangeResponse)),
        gateRow("body too short", asked, Stage.part(length: "120"), .withoutRange(.badRangeResponse)),
        gateRow("unsatisfied form", asked, Stage.part("bytes */200"), .withoutRange(.badRangeResponse)),
        gateRow("other unit", asked, Stage.part("items 50-199/200"), .withoutRange(.badRangeResponse)),
        gateRow("backwards", asked, Stage.part("bytes 50-10/200"), .withoutRange(.badRangeResponse)),
        gateRow("behind its own end", asked, Stage.part("bytes 50-200/200"), .withoutRange(.badRangeResponse)),
        gateRow(
            "multipart", asked, Stage.part(["Content-Type": "Multipart/ByteRanges; boundary=x"]),
            .withoutRange(.badRangeResponse)),
        gateRow("gzip", asked, Stage.part(["Content-Encoding": "gzip"]), .withoutRange(.encodedResponse)),
        gateRow("bad length", asked, Stage.part(length: "-1"), .fail(.protocol)),
        gateRow("length beyond 2^53", asked, Stage.part(length: "99999999999999999999"), .fail(.protocol)),
    ])
    func `a wrong part is refused before its first byte`(row: GateRow) {
        #expect(verdict(row) == row.expected)
    }

    @Test(arguments: [
        gateRow("another ETag", asked, Stage.part(["ETag": "\"v2\""]), .withoutRange(.validatorChanged)),
        gateRow("the ETag made weak", asked, Stage.part(["ETag": "W/\"v1\""]), .withoutRange(.validatorChanged)),
        gateRow("another date", asked, Stage.part(["Last-Modified": "x"]), .withoutRange(.validatorChanged)),
        gateRow("another total", asked, Stage.part("bytes 50-199/999"), .withoutRange(.totalChanged)),
        gateRow(
            "past the known end", asked, Stage.part("bytes 50-299/*", length: "250"), .withoutRange(.totalChanged)),
        gateRow("no validator at all", asked, Stage.part(bare: true), .withoutRange(.noValidator)),
        gateRow(
            "another ETag, to fail", Stage.resuming { $0.onChange = .fail }, Stage.part(["ETag": "\"v2\""]),
            .changed(.validatorChanged)),
        gateRow(
            "another total, to keep both", Stage.resuming { $0.onChange = .keepBoth },
            Stage.part("bytes 50-199/999"), .withoutRange(.totalChanged)),
        gateRow(
            "another total though a checksum is known", Stage.resuming { $0.hasChecksum = true },
            Stage.part("bytes 50-199/999"), .withoutRange(.totalChanged)),
        gateRow(
            "another ETag and no total, though a checksum is known", Stage.resuming { $0.hasChecksum = true },
            Stage.part("bytes 50-199/*", ["ETag": "\"v2\""]), .withoutRange(.validatorChanged)),
        gateRow(
            "another ETag though a checksum is known, to fail",
            Stage.resuming {
                $0.hasChecksum = true; $0.onChange = .fail
            }, Stage.part(["ETag": "\"v2\""]), .changed(.validatorChanged)),
        gateRow(
            "ever another ETag", Stage.resuming { $0.restartCount = Limits.restartCount },
            Stage.part(["ETag": "\"v2\""]), .fail(.remoteChanged)),
        gateRow(
            "never a right range", Stage.resuming { $0.restartCount = Limits.restartCount },
            Stage.part("bytes 60-199/200", length: "140"), .fail(.rangeUnsupported)),
    ])
    func `a part of another version is refused`(row: GateRow) {
        #expect(verdict(row) == row.expected)
    }

    @Test(arguments: [
        gateRow(
            "by 10 bytes", asked, Stage.part("bytes 40-199/200", length: "160"), .compared(40, overlap: 10, new: 150)),
        gateRow(
            "the whole file", asked, Stage.part("bytes 0-199/200", length: "200"),
            .compared(0, overlap: 50, new: 150)),
        gateRow(
            "a subset", asked, Stage.part("bytes 40-50/200", length: "11"), .compared(40, overlap: 10, new: 1)),
        gateRow(
            "of another version", asked, Stage.part("bytes 40-199/200", length: "160", ["ETag": "\"v2\""]),
            .withoutRange(.validatorChanged)),
    ])
    func `a part that starts early is compared with what is held`(row: GateRow) {
        #expect(verdict(row) == row.expected)
    }

    @Test(
        arguments: [
            Row("64 KiB", 65_536, .compared(934_464, overlap: 65_536, new: 1_000_000)),
            Row("one more", 65_537, .withoutRange(.badRangeResponse)),
        ] as [Row<Int64, Verdict>])
    func `no more is compared than is read at once`(row: Row<Int64, Verdict>) {
        let context = Stage.resuming {
            $0.entity?.totalByteCount = 2_000_000
            $0.held = ByteRangeSet(0, 1_000_000)
            $0.asked = RangeRequest(lowerBound: 1_000_000, upperBound: 2_000_000, ifRange: Stage.etag)
        }
        let head = Stage.part("bytes \(1_000_000 - row.input)-1999999/2000000", length: nil)
        #expect(Verdict(ResponseGate.decide(context, head)) == row.expected)
    }

    private static let comparing = Stage.resuming {
        $0.asked = RangeRequest(lowerBound: 30, upperBound: 200, ifRange: Stage.etag, overlapByteCount: 20)
    }
    private static let endless = Stage.resuming {
        $0.entity?.totalByteCount = nil
        $0.asked = RangeRequest(lowerBound: 30, ifRange: Stage.etag, overlapByteCount: 20)
    }

    @Test(arguments: [
        gateRow(
            "as asked", comparing, Stage.part("bytes 30-199/200", length: "170"), .compared(30, overlap: 20, new: 150)),
        gateRow(
            "cut short", comparing, Stage.part("bytes 30-60/200", length: "31"), .compared(30, overlap: 20, new: 11)),
        gateRow(
            "cut to nothing new", comparing, Stage.part("bytes 30-49/200", length: "20"),
            .compared(30, overlap: 20, new: 0)),
        gateRow(
            "cut to one byte", comparing, Stage.part("bytes 30-30/200", length: "1"), .compared(30, overlap: 1, new: 0)),
        gateRow(
            "of the comparison, but not its beginning", comparing, Stage.part("bytes 20-49/200", length: "30"),
            .withoutRange(.badRangeResponse)),
        gateRow("without the comparison", comparing, Stage.part(), .withoutRange(.badRangeResponse)),
        gateRow(
            "the end, and only that", endless, Stage.part("bytes 30-49/50", length: "20"),
            .compared(30, overlap: 20, new: 0)),
        gateRow("no end", endless, Stage.part("bytes 30-49/*", length: "20"), .compared(30, overlap: 20, new: 0)),
    ])
    func `what is held is compared before a part is joined to it`(row: GateRow) {
        #expect(verdict(row) == row.expected)
    }

    private static func dated(ifRange: String?) -> GateContext {
        GateContext(
            entity: Stage.datedEntity, held: ByteRangeSet(0, 50),
            asked: RangeRequest(lowerBound: 50, upperBound: 200, ifRange: ifRange))
    }
    private static func weak(_ change: (inout GateContext) -> Void = { _ in }) -> GateContext {
        var context = GateContext(
            entity: Stage.weakEntity, held: ByteRangeSet(0, 50), asked: RangeRequest(lowerBound: 50, upperBound: 200))
        change(&context)
        return context
    }

    @Test(arguments: [
        gateRow(
            "date equal", dated(ifRange: Stage.lastModified),
            Stage.part(["Last-Modified": Stage.lastModified], bare: true), .resumed(50, 150)),
        gateRow(
            "date left out after If-Range", dated(ifRange: Stage.lastModified), Stage.part(bare: true),
            .withoutRange(.noValidator)),
        gateRow(
            "date left out without If-Range", dated(ifRange: nil), Stage.part(bare: true), .withoutRange(.noValidator)),
        gateRow(
            "ETag equal without If-Range", Stage.resuming { $0.asked?.ifRange = nil }, Stage.part(), .resumed(50, 150)),
        gateRow("weak ETag equal", weak(), Stage.part(["ETag": "W/\"v1\""]), .withoutRange(.noValidator)),
        gateRow(
            "weak ETag equal, checksum known", weak { $0.hasChecksum = true }, Stage.part(["ETag": "W/\"v1\""]),
            .resumed(50, 150)),
        gateRow(
            "weak ETag equal, trusting", weak { $0.resumePolicy = .trust }, Stage.part(["ETag": "W/\"v1\""]),
            .resumed(50, 150)),
        gateRow(
            "weak ETag differs, trusting", weak { $0.resumePolicy = .trust }, Stage.part(["ETag": "W/\"v2\""]),
            .withoutRange(.validatorChanged)),
        gateRow(
            "nothing recorded of what is held", Stage.resuming { $0.entity = nil }, Stage.part(),
            .withoutRange(.noValidator)),
    ])
    func `identity has to be proven or trusted`(row: GateRow) {
        #expect(verdict(row) == row.expected)
    }

    @Test(arguments: [
        gateRow("from 0", GateContext(), Stage.part("bytes 0-199/200", length: "200"), .fresh(200)),
        gateRow("a first part", GateContext(), Stage.part("bytes 0-99/200", length: "100"), .fresh(100)),
        gateRow("a later part", GateContext(), Stage.part(), .fail(.protocol)),
        gateRow("without Content-Range", GateContext(), Stage.head(206), .fail(.protocol)),
        gateRow(
            "encoded", GateContext(), Stage.part("bytes 0-199/200", length: "200", ["Content-Encoding": "br"]),
            .fail(.protocol)),
        gateRow(
            "from 0, over what is held", Stage.resuming { $0.asked = nil },
            Stage.part("bytes 0-199/200", length: "200"), .restarted(.rangeIgnored)),
    ])
    func `a part that nobody asked for must start the file`(row: GateRow) {
        #expect(verdict(row) == row.expected)
    }

    @Test func `more than was asked for is cut at the gap's end`() {
        var context = Stage.resuming
        context.held = ByteRangeSet([ByteRange(0, 50), ByteRange(80, 90)].compactMap { $0 })
        context.asked?.upperBound = 80
        #expect(Verdict(ResponseGate.decide(context, Stage.part())) == .resumed(50, 30))
    }

    @Test func `what is held keeps its identity, and learns the length`() {
        var context = Stage.resuming
        context.entity?.totalByteCount = nil
        context.asked?.upperBound = nil
        guard case .accept(let plan) = ResponseGate.decide(context, Stage.part(["Content-Type": "x/y"])) else {
            Issue.record("refused")
            return
        }
        #expect(plan.entity == Stage.entity)
        #expect(plan.isLengthVerified && plan.isResumable)
    }

    @Test func `a first range of an unknown file is fresh`() {
        let context = GateContext(asked: RangeRequest(lowerBound: 0))
        #expect(Verdict(ResponseGate.decide(context, Stage.part("bytes 0-199/200", length: "200"))) == .fresh(200))
    }

    @Test(
        arguments: [
            Row("by the total", "bytes 50-199/200", .fail(.sizeLimit)),
            Row("by the range", "bytes 50-199/*", .fail(.sizeLimit)),
        ] as [Row<String, Verdict>])
    func `a file over the size limit is refused`(row: Row<String, Verdict>) {
        let context = Stage.resuming { $0.maxFileByteCount = 199 }
        #expect(Verdict(ResponseGate.decide(context, Stage.part(row.input))) == row.expected)
    }
}
