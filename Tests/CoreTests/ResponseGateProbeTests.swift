import Testing

@testable import Core

/// Joining bytes without a strong validator.
@Suite struct ResponseGateProbeTests {
    private static let asked = Stage.resuming

    private static func weak(_ change: (inout GateContext) -> Void = { _ in }) -> GateContext {
        var context = GateContext(
            entity: Stage.weakEntity, held: ByteRangeSet(0, 50), asked: RangeRequest(lowerBound: 50, upperBound: 200))
        change(&context)
        return context
    }

    /// 50 stored bytes of an unproven file, of which the last 20 are requested again.
    private static func probing(_ change: (inout GateContext) -> Void = { _ in }) -> GateContext {
        weak {
            $0.resumePolicy = .probe
            $0.asked = RangeRequest(lowerBound: 30, upperBound: 200, overlapByteCount: 20)
            change(&$0)
        }
    }
    private static func probed(_ range: String = "bytes 30-199/200", _ fields: [String: String] = [:]) -> ResponseHead {
        Stage.part(range, length: nil, ["ETag": "W/\"v1\""].merging(fields) { $1 })
    }

    @Test(arguments: [
        gateRow("as asked", probing(), probed(), .compared(30, overlap: 20, new: 150)),
        gateRow(
            "no validator", probing(), Stage.part("bytes 30-199/200", length: "170", bare: true),
            .compared(30, overlap: 20, new: 150)),
        gateRow("starts earlier still", probing(), probed("bytes 16-199/200"), .compared(16, overlap: 34, new: 150)),
        gateRow("starts late", probing(), probed("bytes 31-199/200"), .withoutRange(.badRangeResponse)),
        gateRow("the overlap alone", probing(), probed("bytes 30-49/200"), .compared(30, overlap: 20, new: 0)),
        gateRow("one byte more", probing(), probed("bytes 30-50/200"), .compared(30, overlap: 20, new: 1)),
        gateRow("unknown total", probing(), probed("bytes 30-199/*"), .withoutRange(.noValidator)),
        gateRow("another total", probing(), probed("bytes 30-199/201"), .withoutRange(.totalChanged)),
        gateRow(
            "another weak ETag", probing(), probed("bytes 30-199/200", ["ETag": "W/\"v2\""]),
            .withoutRange(.validatorChanged)),
        gateRow(
            "another weak ETag, to fail", probing { $0.onChange = .fail },
            probed("bytes 30-199/200", ["ETag": "W/\"v2\""]),
            .changed(.validatorChanged)),
        gateRow(
            "total not known before", probing { $0.entity?.totalByteCount = nil }, probed(),
            .withoutRange(.noValidator)),
        gateRow(
            "asked without an overlap", probing { $0.asked = RangeRequest(lowerBound: 50, upperBound: 200) },
            probed("bytes 50-199/200"), .withoutRange(.noValidator)),
        gateRow(
            "whole instead", probing(), Stage.head(200, ["ETag": "W/\"v1\"", "Content-Length": "200"]),
            .restarted(.noValidator)),
    ])
    func `a probe compares where nothing else tells`(row: GateRow) {
        #expect(verdict(row) == row.expected)
    }

    private static let checked = Stage.resuming { $0.hasChecksum = true }
    private static let other = ["ETag": "\"v2\"", "Content-Length": "200"]

    @Test(arguments: [
        gateRow("a part under another ETag", checked, Stage.part(["ETag": "\"v2\""]), .resumed(50, 150)),
        gateRow("a part under another date", checked, Stage.part(["Last-Modified": "x"]), .resumed(50, 150)),
        gateRow("the whole under another ETag", checked, Stage.head(200, other), .withoutIfRangeByChecksum),
        gateRow(
            "the whole again",
            Stage.resuming {
                $0.hasChecksum = true; $0.asked?.ifRange = nil
            },
            Stage.head(200, other), .restarted(.validatorChanged)),
        gateRow(
            "the whole, to fail",
            Stage.resuming {
                $0.hasChecksum = true; $0.onChange = .fail
            },
            Stage.head(200, other), .changed(.validatorChanged)),
        gateRow(
            "the whole, no more tries",
            Stage.resuming {
                $0.hasChecksum = true; $0.restartCount = Limits.restartCount
            },
            Stage.head(200, other), .fail(.remoteChanged)),
        gateRow("another length", checked, Stage.head(200, ["Content-Length": "201"]), .restarted(.totalChanged)),
    ])
    func `a checksum outranks validators`(row: GateRow) {
        #expect(verdict(row) == row.expected)
    }

    @Test(
        arguments: [
            Row("restart", probing(), .withoutRange(.overlapDiffers)),
            Row("fail", probing { $0.onChange = .fail }, .changed(.overlapDiffers)),
            Row("too often", probing { $0.restartCount = Limits.restartCount }, .fail(.remoteChanged)),
            Row("a part that started early by itself", asked, .withoutRange(.badRangeResponse)),
        ] as [Row<GateContext, Verdict>])
    func `an overlap that differs is a change of the file`(row: Row<GateContext, Verdict>) {
        #expect(Verdict(ResponseGate.overlapDiffers(row.input)) == row.expected)
    }

    @Test(
        arguments: [
            Row("strong ETag", asked, .validated),
            Row("strong ETag, checksum", Stage.resuming { $0.hasChecksum = true }, .validated),
            Row("weak, checksum", weak { $0.hasChecksum = true }, .checksum),
            Row(
                "weak, checksum, probe",
                weak {
                    $0.hasChecksum = true; $0.resumePolicy = .probe
                }, .checksum),
            Row("weak, trust", weak { $0.resumePolicy = .trust }, .trusted),
            Row(
                "weak, probe",
                weak {
                    $0.resumePolicy = .probe; $0.asked?.overlapByteCount = 1
                }, .probed),
            Row(
                "nothing held",
                Stage.resuming {
                    $0.held = ByteRangeSet(); $0.entity = nil
                }, nil),
        ] as [Row<GateContext, IdentityProof?>])
    func `the transfer says what the joined bytes rely on`(row: Row<GateContext, IdentityProof?>) {
        let etag = row.input.entity?.etag ?? Stage.etag
        guard case .accept(let plan) = ResponseGate.decide(row.input, Stage.part(["ETag": etag])) else {
            Issue.record("refused")
            return
        }
        #expect(plan.origin.identity == row.expected)
    }
}
