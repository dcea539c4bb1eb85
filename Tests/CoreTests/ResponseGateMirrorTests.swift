import Testing

@testable import Core

/// Redirects that lead to one of several hosts, and files whose length is known only at their end.
@Suite struct ResponseGateMirrorTests {
    private static func at(_ mirror: Mirror, _ change: (inout GateContext) -> Void = { _ in }) -> GateContext {
        Stage.resuming {
            $0.mirror = mirror
            change(&$0)
        }
    }
    private static let part = Stage.part(["ETag": "\"v2\""])
    private static let whole = Stage.head(200, ["ETag": "\"v2\"", "Content-Length": "200"])

    @Test(arguments: [
        gateRow("part", at(.otherWithEarlier), part, .atEarlierMirror),
        gateRow("part, date", at(.otherWithEarlier), Stage.part(["Last-Modified": "x"]), .atEarlierMirror),
        gateRow("whole", at(.otherWithEarlier), whole, .atEarlierMirror),
        gateRow("part, asked before", at(.other), part, .withoutRange(.mirrorChanged)),
        gateRow("whole, asked before", at(.other), whole, .restarted(.mirrorChanged)),
        gateRow("part, same host", at(.same), part, .withoutRange(.validatorChanged)),
        gateRow("whole, same host", at(.same), whole, .restarted(.validatorChanged)),
        gateRow("part, to fail", at(.other) { $0.onChange = .fail }, part, .changed(.mirrorChanged)),
        gateRow("whole, to fail", at(.other) { $0.onChange = .fail }, whole, .changed(.mirrorChanged)),
        gateRow("whole, to keep both", at(.other) { $0.onChange = .keepBoth }, whole, .restartedBeside(.mirrorChanged)),
        gateRow(
            "whole, to fail, not asked before", at(.otherWithEarlier) { $0.onChange = .fail }, whole, .atEarlierMirror),
        gateRow(
            "another length", at(.otherWithEarlier), Stage.head(200, ["Content-Length": "300"]),
            .restarted(.totalChanged)),
        gateRow("the same validator", at(.otherWithEarlier), Stage.part(), .resumed(50, 150)),
        gateRow("part, checksum", at(.otherWithEarlier) { $0.hasChecksum = true }, part, .resumed(50, 150)),
        gateRow("whole, checksum", at(.otherWithEarlier) { $0.hasChecksum = true }, whole, .withoutIfRangeByChecksum),
        gateRow("no range asked", at(.otherWithEarlier) { $0.asked = nil }, whole, .restarted(.mirrorChanged)),
        gateRow("ever another", at(.other) { $0.restartCount = Limits.restartCount }, part, .fail(.remoteChanged)),
    ])
    func `another mirror's validator is no proof of a change`(row: GateRow) {
        #expect(verdict(row) == row.expected)
    }

    /// 50 stored bytes of a file of unknown length; the request starts at the last of them.
    private static func endless(_ change: (inout GateContext) -> Void = { _ in }) -> GateContext {
        Stage.resuming {
            $0.entity?.totalByteCount = nil
            $0.asked = RangeRequest(lowerBound: 49, ifRange: Stage.etag, overlapByteCount: 1)
            change(&$0)
        }
    }

    @Test(arguments: [
        gateRow(
            "it was the last", endless(), Stage.part("bytes 49-49/50", length: "1"), .compared(49, overlap: 1, new: 0)),
        gateRow(
            "there is more", endless(), Stage.part("bytes 49-199/200", length: "151"),
            .compared(49, overlap: 1, new: 150)),
        gateRow(
            "more than a subset", endless(), Stage.part("bytes 49-49/200", length: "1"),
            .compared(49, overlap: 1, new: 0)),
        gateRow(
            "length still unknown", endless(), Stage.part("bytes 49-49/*", length: "1"),
            .compared(49, overlap: 1, new: 0)),
        gateRow(
            "of another version", endless(), Stage.part("bytes 49-49/50", length: "1", ["ETag": "\"v2\""]),
            .withoutRange(.validatorChanged)),
        gateRow(
            "no validator", endless(), Stage.part("bytes 49-49/50", length: "1", bare: true),
            .withoutRange(.noValidator)),
        gateRow(
            "not in one piece", endless { $0.held = ByteRangeSet(40, 50) }, Stage.part("bytes 49-49/50", length: "1"),
            .compared(49, overlap: 1, new: 0)),
        gateRow(
            "shorter now", endless(), Stage.head(416, ["Content-Range": "bytes */20"]), .withoutRange(.totalChanged)),
        gateRow(
            "a 416 proves nothing", endless(), Stage.head(416, ["Content-Range": "bytes */50"]),
            .withoutRange(.rangeRejected)),
    ])
    func `the end of a file of unknown length has to be proven`(row: GateRow) {
        #expect(verdict(row) == row.expected)
    }
}
