import Core
import Testing

@Suite struct TimespanTests {
    @Test(
        arguments: [
            (0, 0), (1, 1_000_000), (-1, -1_000_000), (86_400_000, 86_400_000_000_000),
            (9_223_372_036_854, 9_223_372_036_854_000_000), (9_223_372_036_855, Int64.max), (.max, .max),
            (-9_223_372_036_855, .min), (.min, .min),
        ] as [(Int64, Int64)])
    func `milliseconds that do not fit are held at the end`(milliseconds: Int64, nanoseconds: Int64) {
        #expect(Timespan(milliseconds: milliseconds).nanoseconds == nanoseconds)
    }

    @Test(arguments: [Int64.min, -1, 0, 1, 1_700_000_000_000_000_000, .max])
    func `no moment and no span trap`(moment: Int64) {
        for milliseconds in [Int64.min, -1, 0, 1, 86_400_000, .max] {
            let span = Timespan(milliseconds: milliseconds)
            let after = span.after(moment)
            #expect(milliseconds < 0 ? after <= moment : after >= moment)
        }
        #expect(moment.addingSaturated(.max) >= moment || moment > 0)
        #expect((0...5).clamping(moment) == (moment < 0 ? 0 : moment > 5 ? 5 : moment))
    }
}
