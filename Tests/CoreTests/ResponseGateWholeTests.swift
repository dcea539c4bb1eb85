import Testing

@testable import Core

@Suite struct ResponseGateWholeTests {
    private static let new = GateContext()
    private static let asked = Stage.resuming
    private static let changedETag = ["ETag": "\"v2\"", "Content-Length": "200"]
    private static let sameFile = ["Content-Length": "200"]

    @Test(arguments: [
        gateRow("with length", new, Stage.head(200, sameFile), .fresh(200)),
        gateRow("empty", new, Stage.head(200, ["Content-Length": "0"]), .fresh(0)),
        gateRow("chunked", new, Stage.head(200, ["Transfer-Encoding": "chunked"]), .fresh(nil)),
        gateRow("until close", new, Stage.head(200), .fresh(nil)),
        gateRow("no validators", new, Stage.head(200, sameFile, bare: true), .fresh(200)),
        gateRow("transformed by a proxy", new, Stage.head(203, sameFile), .fresh(200)),
        gateRow(
            "a range asked, nothing held", GateContext(asked: RangeRequest(lowerBound: 0)), Stage.head(200, sameFile),
            .fresh(200)),
        gateRow(
            "idle Content-Range", new, Stage.head(200, ["Content-Length": "200", "Content-Range": "bytes 0-199/200"]),
            .fresh(200)),
        gateRow(
            "broken Content-Range", new, Stage.head(200, ["Content-Length": "200", "Content-Range": "nonsense"]),
            .fresh(200)),
        gateRow(
            "a part in disguise", new, Stage.head(200, ["Content-Length": "150", "Content-Range": "bytes 50-199/200"]),
            .fail(.protocol)),
        gateRow(
            "a first part in disguise", new,
            Stage.head(200, ["Content-Length": "100", "Content-Range": "bytes 0-99/200"]), .fail(.protocol)),
        gateRow("length not a number", new, Stage.head(200, ["Content-Length": "12abc"]), .fail(.protocol)),
        gateRow("length negative", new, Stage.head(200, ["Content-Length": "-1"]), .fail(.protocol)),
        gateRow("length 2^63", new, Stage.head(200, ["Content-Length": "9223372036854775808"]), .fail(.protocol)),
        gateRow("length over 2^53", new, Stage.head(200, ["Content-Length": "9007199254740992"]), .fail(.protocol)),
        gateRow("equal lengths", new, Stage.head(200, ["Content-Length": "5, 5"]), .fresh(5)),
        gateRow("differing lengths", new, Stage.head(200, ["Content-Length": "5, 6"]), .fail(.protocol)),
        gateRow("over the limit", GateContext(maxFileByteCount: 199), Stage.head(200, sameFile), .fail(.sizeLimit)),
        gateRow("at the limit", GateContext(maxFileByteCount: 200), Stage.head(200, sameFile), .fresh(200)),
    ])
    func `a first response`(row: GateRow) {
        #expect(verdict(row) == row.expected)
    }

    @Test(arguments: [
        gateRow("another ETag", asked, Stage.head(200, changedETag), .restarted(.validatorChanged)),
        gateRow("another date", asked, Stage.head(200, ["Last-Modified": "x"]), .restarted(.validatorChanged)),
        gateRow("grown", asked, Stage.head(200, ["Content-Length": "300"]), .restarted(.totalChanged)),
        gateRow("as long as what is held", asked, Stage.head(200, ["Content-Length": "50"]), .restarted(.totalChanged)),
        gateRow(
            "emptied", asked, Stage.head(200, ["ETag": "\"v2\"", "Content-Length": "0"]), .restarted(.validatorChanged)),
        gateRow("emptied, says the same tag", asked, Stage.head(200, ["Content-Length": "0"]), .needsURL),
        gateRow(
            "as long as what is missing", asked, Stage.head(200, ["Content-Length": "150"]),
            .withoutRange(.badRangeResponse)),
        gateRow(
            "a part in disguise", asked,
            Stage.head(200, ["Content-Length": "150", "Content-Range": "bytes 50-199/200"]),
            .withoutRange(.badRangeResponse)),
        gateRow(
            "whole, with an idle Content-Range", asked,
            Stage.head(200, ["ETag": "\"v2\"", "Content-Length": "200", "Content-Range": "bytes 50-199/200"]),
            .restarted(.validatorChanged)),
        gateRow("no validators left", asked, Stage.head(200, sameFile, bare: true), .changed(.noValidator)),
        gateRow(
            "no validators left, but a checksum", Stage.resuming { $0.hasChecksum = true },
            Stage.head(200, sameFile, bare: true), .restarted(.rangeIgnored)),
        gateRow(
            "the bytes differed under one validator",
            Stage.resuming {
                $0.asked = nil; $0.quirks.rangesGivenUp = .overlapDiffers
            }, Stage.head(200, sameFile), .restarted(.overlapDiffers)),
        gateRow(
            "to keep both, the bytes differed under one validator",
            Stage.resuming {
                $0.asked = nil; $0.quirks.rangesGivenUp = .overlapDiffers; $0.onChange = .keepBoth
            }, Stage.head(200, sameFile), .restartedBeside(.overlapDiffers)),
        gateRow(
            "to fail", Stage.resuming { $0.onChange = .fail }, Stage.head(200, changedETag), .changed(.validatorChanged)
        ),
        gateRow(
            "to keep both", Stage.resuming { $0.onChange = .keepBoth }, Stage.head(200, ["Content-Length": "300"]),
            .restartedBeside(.totalChanged)),
        gateRow(
            "to keep both, no validators left", Stage.resuming { $0.onChange = .keepBoth },
            Stage.head(200, sameFile, bare: true), .restartedBeside(.validatorChanged)),
        gateRow(
            "to keep both, the same version",
            Stage.resuming {
                $0.onChange = .keepBoth; $0.asked?.ifRange = nil
            },
            Stage.head(200, sameFile), .restarted(.rangeIgnored)),
        gateRow(
            "again and again", Stage.resuming { $0.restartCount = Limits.restartCount }, Stage.head(200, changedETag),
            .fail(.remoteChanged)),
        gateRow(
            "after the range was dropped",
            Stage.resuming {
                $0.asked = nil; $0.restartCount = Limits.restartCount; $0.quirks.rangesGivenUp = .validatorChanged
            }, Stage.head(200, changedETag), .restarted(.validatorChanged)),
    ])
    func `another version while bytes are held`(row: GateRow) {
        #expect(verdict(row) == row.expected)
    }

    @Test(arguments: [
        gateRow("under If-Range: asked once more without", asked, Stage.head(200, sameFile), .withoutIfRange),
        gateRow(
            "without If-Range: ranges are ignored", Stage.resuming { $0.asked?.ifRange = nil },
            Stage.head(200, sameFile), .restarted(.rangeIgnored)),
        gateRow(
            "If-Range known broken", Stage.resuming { $0.quirks.isIfRangeBroken = true }, Stage.head(200, sameFile),
            .restarted(.rangeIgnored)),
        gateRow("ranges refused", asked, Stage.head(200, ["Accept-Ranges": "none"]), .restarted(.rangeIgnored)),
        gateRow(
            "no more tries", Stage.resuming { $0.restartCount = Limits.restartCount }, Stage.head(200, sameFile),
            .restarted(.rangeIgnored)),
        gateRow(
            "ignored ranges are no change",
            Stage.resuming {
                $0.asked?.ifRange = nil; $0.onChange = .fail
            }, Stage.head(200, sameFile), .restarted(.rangeIgnored)),
        gateRow(
            "ranges given up",
            Stage.resuming {
                $0.asked = nil; $0.quirks.rangesGivenUp = .badRangeResponse
            }, Stage.head(200, sameFile), .restarted(.badRangeResponse)),
        gateRow(
            "compressed file in part",
            Stage.resuming {
                $0.asked = nil; $0.entity?.contentEncoding = "gzip"
            }, Stage.head(200, sameFile), .restarted(.encodedResponse)),
    ])
    func `the same version while bytes are held`(row: GateRow) {
        #expect(verdict(row) == row.expected)
    }

    private static func weak(_ change: (inout GateContext) -> Void = { _ in }) -> GateContext {
        var context = GateContext(entity: Stage.weakEntity, held: ByteRangeSet(0, 50))
        change(&context)
        return context
    }
    private static let weakHead = Stage.head(200, ["ETag": "W/\"v1\"", "Content-Length": "200"])

    @Test(arguments: [
        gateRow("strict", weak(), weakHead, .restarted(.noValidator)),
        gateRow("strict, to fail", weak { $0.onChange = .fail }, weakHead, .changed(.noValidator)),
        gateRow(
            "checksum, range ignored",
            weak {
                $0.hasChecksum = true; $0.asked = RangeRequest(lowerBound: 50)
            }, weakHead, .restarted(.rangeIgnored)),
        gateRow("no entity known", weak { $0.entity = nil }, weakHead, .restarted(.noValidator)),
        gateRow("weak ETag changed", weak(), Stage.head(200, ["ETag": "W/\"v2\""]), .restarted(.validatorChanged)),
        gateRow(
            "HTTP/1.0",
            Stage.resuming {
                $0.asked = nil; $0.entity?.isHTTP11 = false
            }, Stage.head(200, sameFile), .restarted(.noValidator)),
    ])
    func `no proof while bytes are held`(row: GateRow) {
        #expect(verdict(row) == row.expected)
    }

    @Test(arguments: [
        gateRow(
            "gzip on the way", new, Stage.head(200, ["Content-Encoding": "gzip", "Content-Length": "9"]), .fresh(nil)),
        gateRow("deflate on the way", new, Stage.head(203, ["Content-Encoding": "Deflate"]), .fresh(nil)),
        gateRow(
            "gzip on the way, with the length of the compressed bytes over the limit",
            GateContext(maxFileByteCount: 8), Stage.head(200, ["Content-Encoding": "gzip", "Content-Length": "9"]),
            .fresh(nil)),
        gateRow("br on the way", new, Stage.head(200, ["Content-Encoding": "br"]), .fail(.protocol)),
        gateRow("gzip twice", new, Stage.head(200, ["Content-Encoding": "gzip, gzip"]), .fail(.protocol)),
        gateRow(
            "gzip as a label", GateContext(codingEvidence: .init(names: ["a.tar.gz"])),
            Stage.head(200, ["Content-Encoding": "gzip", "Content-Length": "9"]), .fresh(9)),
        gateRow(
            "gzip by type", new, Stage.head(200, ["Content-Encoding": "x-gzip", "Content-Type": "application/gzip"]),
            .fresh(nil)),
        gateRow(
            "br on a .gz", GateContext(codingEvidence: .init(names: ["a.tar.gz"])),
            Stage.head(200, ["Content-Encoding": "br"]),
            .fail(.protocol)),
        gateRow(
            "gzip on the way, bytes held", asked,
            Stage.head(200, ["Content-Encoding": "gzip", "ETag": "W/\"v1\"", "Content-Length": "99"]),
            .restarted(.validatorChanged)),
        gateRow(
            "gzip on the way, the same validator", asked,
            Stage.head(200, ["Content-Encoding": "gzip", "Content-Length": "150"]), .withoutIfRange),
        gateRow(
            "gzip on the way again",
            Stage.resuming {
                $0.asked = nil; $0.entity?.contentEncoding = "gzip"
            },
            Stage.head(200, ["Content-Encoding": "gzip"]), .restarted(.encodedResponse)),
        gateRow("br on the way, bytes held", asked, Stage.head(200, ["Content-Encoding": "br"]), .fail(.protocol)),
        gateRow(
            "web page with new length", asked,
            Stage.head(200, ["Content-Type": "text/html; charset=utf-8", "Content-Length": "9"], bare: true), .needsURL),
        gateRow(
            "web page by another type", asked, Stage.head(200, ["Content-Type": "application/xhtml+xml"], bare: true),
            .needsURL),
        gateRow(
            "compressed web page", asked,
            Stage.head(200, ["Content-Type": "text/html", "Content-Encoding": "gzip"], bare: true), .needsURL),
        gateRow("web page at first", new, Stage.head(200, ["Content-Type": "text/html"], bare: true), .fresh(nil)),
        gateRow(
            "web page where one was", Stage.resuming { $0.entity?.contentType = "text/html" },
            Stage.head(200, ["Content-Type": "text/html", "ETag": "\"v2\""]), .restarted(.validatorChanged)),
    ])
    func `codings and pages that stand in for a file`(row: GateRow) {
        #expect(verdict(row) == row.expected)
    }

    private static func answer(_ type: String?, _ byteCount: Int?, _ validators: [String: String] = [:]) -> ResponseHead
    {
        var fields = validators
        fields["Content-Type"] = type
        fields["Content-Length"] = byteCount.map(String.init)
        return Stage.head(200, fields, bare: true)
    }
    private static let untyped = Stage.resuming { $0.entity?.contentType = nil }
    private static let unvalidated = Stage.resuming {
        $0.entity = Entity(totalByteCount: 200, contentType: "application/zip"); $0.asked = nil
    }

    @Test(arguments: [
        gateRow("JSON", asked, answer("application/json", 19), .needsURL),
        gateRow("JSON, to keep both", Stage.resuming { $0.onChange = .keepBoth }, answer("text/json", 19), .needsURL),
        gateRow("JSON, to fail", Stage.resuming { $0.onChange = .fail }, answer("text/json", 19), .needsURL),
        gateRow("JSON under a checksum", Stage.resuming { $0.hasChecksum = true }, answer("text/json", 19), .needsURL),
        gateRow("JSON with a tag of its own", asked, answer("application/json", 19, ["ETag": "W/\"13\""]), .needsURL),
        gateRow(
            "JSON of no length under the old tag", asked, answer("application/json", nil, ["ETag": Stage.etag]),
            .needsURL),
        gateRow(
            "the file of no length under the old tag", Stage.resuming { $0.asked?.ifRange = nil },
            answer("application/zip", nil, ["ETag": Stage.etag]), .restarted(.rangeIgnored)),
        gateRow("JSON of no length", asked, answer("application/json", nil), .needsURL),
        gateRow("long JSON", asked, answer("application/json", 400), .needsURL),
        gateRow("XML of a store", asked, answer("application/xml", 49), .needsURL),
        gateRow("a word of text", asked, answer("text/plain", 9), .needsURL),
        gateRow("the same type, far smaller", asked, answer("application/zip", 9), .needsURL),
        gateRow("no type, far smaller", asked, answer(nil, 9), .needsURL),
        gateRow("HTML where no type was told", untyped, answer("text/html", 19), .needsURL),
        gateRow("JSON where no type was told", untyped, answer("application/problem+json", 19), .needsURL),
        gateRow("JSON where there was no validator", unvalidated, answer("application/json", 19), .needsURL),
        gateRow("emptied, validators gone", asked, answer("application/zip", 0), .needsURL),
        gateRow(
            "a new version, far smaller", asked, answer("application/zip", 9, ["ETag": "\"v2\""]),
            .restarted(.validatorChanged)),
        gateRow(
            "a new version of another type", asked, answer("application/gzip", 150, ["ETag": "\"v2\""]),
            .withoutRange(.badRangeResponse)),
        gateRow(
            "a new version, longer and of another type", asked, answer("application/gzip", 250, ["ETag": "\"v2\""]),
            .restarted(.validatorChanged)),
        gateRow("no version told, ever", unvalidated, answer("application/zip", 200), .restarted(.noValidator)),
    ])
    func `what takes the place of bytes that are held looks like the file`(row: GateRow) {
        #expect(verdict(row) == row.expected)
    }

    struct Quality: Equatable, Sendable {
        var isLengthVerified: Bool
        var isResumable: Bool
        init(_ isLengthVerified: Bool, _ isResumable: Bool) {
            self.isLengthVerified = isLengthVerified
            self.isResumable = isResumable
        }
    }

    @Test(
        arguments: [
            Row("strong ETag, length", (new, Stage.head(200, sameFile)), Quality(true, true)),
            Row("strong ETag, chunked", (new, Stage.head(200, ["Transfer-Encoding": "chunked"])), Quality(true, true)),
            Row("strong ETag, until close", (new, Stage.head(200)), Quality(false, true)),
            Row("HTTP/2 without length", (new, Stage.head(200, version: 20)), Quality(true, true)),
            Row("HTTP/1.0", (new, Stage.head(200, version: 10)), Quality(false, false)),
            Row("weak ETag", (new, weakHead), Quality(true, false)),
            Row("weak ETag, checksum", (GateContext(hasChecksum: true), weakHead), Quality(true, true)),
            Row("weak ETag, trusting", (GateContext(resumePolicy: .trust), weakHead), Quality(true, true)),
            Row("no validator", (new, Stage.head(200, sameFile, bare: true)), Quality(true, false)),
            Row(
                "ranges refused", (new, Stage.head(200, ["Content-Length": "200", "Accept-Ranges": "none"])),
                Quality(true, false)),
            Row(
                "compressed file",
                (
                    GateContext(codingEvidence: .init(names: ["a.gz"])),
                    Stage.head(200, ["Content-Length": "9", "Content-Encoding": "gzip"])
                ),
                Quality(true, false)),
            Row(
                "compressed on its way, until close", (new, Stage.head(200, ["Content-Encoding": "gzip"])),
                Quality(true, false)),
            Row(
                "ranges ignored", (Stage.resuming { $0.asked?.ifRange = nil }, Stage.head(200, sameFile)),
                Quality(true, false)),
            Row("another version", (asked, Stage.head(200, changedETag)), Quality(true, true)),
        ] as [Row<(GateContext, ResponseHead), Quality>])
    func `what an accepted body promises`(row: Row<(GateContext, ResponseHead), Quality>) {
        guard case .accept(let plan) = ResponseGate.decide(row.input.0, row.input.1) else {
            Issue.record("refused")
            return
        }
        #expect(Quality(plan.isLengthVerified, plan.isResumable) == row.expected)
    }

    @Test func `the entity is recorded as received`() {
        guard case .accept(let plan) = ResponseGate.decide(Self.new, Stage.head(200, Self.sameFile)) else {
            Issue.record("refused")
            return
        }
        #expect(plan.entity == Stage.entity)
    }
}
