import Testing

@testable import Core

@Suite struct ResponseGateStatusTests {
    private static let new = GateContext(nowSeconds: 1_000)
    private static let asked = Stage.resuming

    private static func refused(_ range: String?) -> ResponseHead {
        Stage.head(416, range.map { ["Content-Range": $0] } ?? [:], bare: true)
    }
    private static let complete = Stage.resuming {
        $0.entity?.totalByteCount = nil
        $0.asked = RangeRequest(lowerBound: 50, ifRange: Stage.etag)
    }

    @Test(arguments: [
        gateRow(
            "the length is what is held, and was not known", complete, refused("bytes */50"),
            .withoutRange(.rangeRejected)),
        gateRow(
            "held and recorded", Stage.resuming { $0.held = ByteRangeSet(0, 200) }, refused("bytes */200"),
            .finished(.validated)),
        gateRow(
            "without If-Range it proves nothing",
            Stage.resuming {
                $0.held = ByteRangeSet(0, 200); $0.asked?.ifRange = nil
            }, refused("bytes */200"), .withoutRange(.rangeRejected)),
        gateRow(
            "without If-Range, checksum known",
            Stage.resuming {
                $0.held = ByteRangeSet(0, 200); $0.asked?.ifRange = nil; $0.hasChecksum = true
            }, refused("bytes */200"), .finished(.checksum)),
        gateRow("shorter than what is held", complete, refused("bytes */20"), .withoutRange(.totalChanged)),
        gateRow("another total", asked, refused("bytes */50"), .withoutRange(.totalChanged)),
        gateRow(
            "another total, to fail", Stage.resuming { $0.onChange = .fail }, refused("bytes */50"),
            .changed(.totalChanged)),
        gateRow("the range was there", asked, refused("bytes */200"), .withoutRange(.rangeRejected)),
        gateRow("no Content-Range", asked, refused(nil), .withoutRange(.rangeRejected)),
        gateRow("broken Content-Range", asked, refused("bytes */x"), .withoutRange(.rangeRejected)),
        gateRow("a range in its Content-Range", asked, refused("bytes 0-1/200"), .withoutRange(.rangeRejected)),
        gateRow(
            "empty file, nothing held", GateContext(asked: RangeRequest(lowerBound: 0)), refused("bytes */0"),
            .withoutRange(.rangeRejected)),
        gateRow("no range asked", new, refused("bytes */200"), .fail(.rangeUnsupported)),
        gateRow(
            "no more tries", Stage.resuming { $0.restartCount = Limits.restartCount }, refused(nil),
            .fail(.rangeUnsupported)),
        gateRow(
            "ever another total", Stage.resuming { $0.restartCount = Limits.restartCount }, refused("bytes */50"),
            .fail(.remoteChanged)),
    ])
    func `416 is evidence only`(row: GateRow) {
        #expect(verdict(row) == row.expected)
    }

    @Test(arguments: [
        gateRow("412 to a range", asked, Stage.head(412), .withoutRange(.validatorChanged)),
        gateRow(
            "412 to a range, to fail", Stage.resuming { $0.onChange = .fail }, Stage.head(412),
            .changed(.validatorChanged)),
        gateRow("412 to nothing", new, Stage.head(412), .fail(.httpStatus)),
        gateRow("400 to a range", asked, Stage.head(400), .withoutRange(.rangeRejected)),
        gateRow(
            "400 to a range again", Stage.resuming { $0.restartCount = Limits.restartCount }, Stage.head(400),
            .fail(.rangeUnsupported)),
        gateRow("400", new, Stage.head(400), .fail(.httpStatus)),
        gateRow("401", new, Stage.head(401), .fail(.httpStatus)),
        gateRow("403", new, Stage.head(403), .fail(.httpStatus)),
        gateRow("410", new, Stage.head(410), .fail(.httpStatus)),
        gateRow("401 with bytes held", asked, Stage.head(401), .needsURL),
        gateRow("403 with bytes held", asked, Stage.head(403), .needsURL),
        gateRow("410 with bytes held", asked, Stage.head(410), .needsURL),
        gateRow("404", new, Stage.head(404), .fail(.httpStatus)),
        gateRow("404 with bytes held", asked, Stage.head(404), .fail(.httpStatus)),
        gateRow("407", new, Stage.head(407), .fail(.proxy)),
        gateRow("451", new, Stage.head(451), .fail(.httpStatus)),
        gateRow("100", new, Stage.head(100), .fail(.protocol)),
        gateRow("201", new, Stage.head(201), .fail(.httpStatus)),
        gateRow("204", asked, Stage.head(204), .fail(.httpStatus)),
        gateRow("205", asked, Stage.head(205), .fail(.httpStatus)),
        gateRow("226", new, Stage.head(226), .fail(.httpStatus)),
        gateRow("304", asked, Stage.head(304), .fail(.httpStatus)),
        gateRow("501", new, Stage.head(501), .fail(.httpStatus)),
        gateRow("505", new, Stage.head(505), .fail(.httpStatus)),
        gateRow("0", new, Stage.head(0), .fail(.httpStatus)),
        gateRow("999", new, Stage.head(999), .fail(.httpStatus)),
    ])
    func `answers that time does not mend`(row: GateRow) {
        #expect(verdict(row) == row.expected)
    }

    @Test(arguments: [202, 408, 421, 425, 500, 502, 503, 504, 511, 520, 527, 530])
    func `answers that time may mend`(status: Int) {
        for context in [Self.new, Self.asked] {
            #expect(Verdict(ResponseGate.decide(context, Stage.head(status))) == .retry(.httpStatus, nil))
        }
    }

    @Test(arguments: [
        gateRow("429", new, Stage.head(429), .retry(.rateLimited, nil)),
        gateRow("429 with a wait", new, Stage.head(429, ["Retry-After": "7"]), .retry(.rateLimited, 7_000)),
        gateRow("503 with a wait", asked, Stage.head(503, ["Retry-After": "7"]), .retry(.rateLimited, 7_000)),
        gateRow("503 with garbage", new, Stage.head(503, ["Retry-After": "soon"]), .retry(.httpStatus, nil)),
        gateRow("502 with a wait", new, Stage.head(502, ["Retry-After": "7"]), .retry(.httpStatus, 7_000)),
        gateRow("429 with years", new, Stage.head(429, ["Retry-After": "1000000000"]), .retry(.rateLimited, 3_600_000)),
    ])
    func `requests to slow down`(row: GateRow) {
        #expect(verdict(row) == row.expected)
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func `redirects with one target are followed`(status: Int) {
        let head = ResponseHead(status: status, fields: [.init("location", "/b")])
        #expect(Verdict(ResponseGate.decide(Self.asked, head)) == .redirect("/b"))
        let repeated = ResponseHead(status: status, fields: [.init("Location", "/b"), .init("Location", "/b")])
        #expect(Verdict(ResponseGate.decide(Self.asked, repeated)) == .redirect("/b"))
        let two = ResponseHead(status: status, fields: [.init("Location", "/b"), .init("Location", "/c")])
        #expect(Verdict(ResponseGate.decide(Self.asked, two)) == .fail(.protocol))
        #expect(Verdict(ResponseGate.decide(Self.asked, ResponseHead(status: status))) == .fail(.protocol))
    }

    @Test(arguments: [300, 304, 305, 306, 309])
    func `other 3xx are not followed`(status: Int) {
        let head = ResponseHead(status: status, fields: [.init("Location", "/b")])
        #expect(Verdict(ResponseGate.decide(Self.new, head)) == .fail(.httpStatus))
    }
}
