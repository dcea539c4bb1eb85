import Testing

@testable import Core

@Suite struct SpeedMeterTests {
    private static let second: Int64 = 1_000_000_000

    private static func steady(_ rate: Int64, seconds: Int64, stepsPerSecond: Int64 = 4) -> SpeedMeter {
        var meter = SpeedMeter()
        for step in 0...seconds * stepsPerSecond {
            meter.record(nowNanoseconds: step * second / stepsPerSecond, byteCount: step * rate / stepsPerSecond)
        }
        return meter
    }

    @Test func `nothing is told from one record`() {
        var meter = SpeedMeter()
        #expect(meter.bytesPerSecond(nowNanoseconds: 0) == nil)
        meter.record(nowNanoseconds: 0, byteCount: 1_000)
        #expect(meter.bytesPerSecond(nowNanoseconds: Self.second) == nil)
        #expect(meter.etaMilliseconds(remainingByteCount: 5, nowNanoseconds: Self.second) == nil)
    }

    @Test(arguments: [1, 4, 10, 20] as [Int64], [1, 3, 30] as [Int64])
    func `a steady rate is told from the first second on, however it is sampled`(steps: Int64, seconds: Int64) {
        let meter = Self.steady(1_000_000, seconds: seconds, stepsPerSecond: steps)
        #expect(meter.bytesPerSecond(nowNanoseconds: seconds * Self.second) == 1_000_000)
    }

    @Test func `the time left follows from the rate`() {
        let meter = Self.steady(1_000_000, seconds: 10)
        let now = 10 * Self.second
        #expect(meter.etaMilliseconds(remainingByteCount: 2_500_000, nowNanoseconds: now) == 2_500)
        #expect(meter.etaMilliseconds(remainingByteCount: 0, nowNanoseconds: now) == 0)
        #expect(meter.etaMilliseconds(remainingByteCount: .max, nowNanoseconds: now) == nil)
    }

    @Test func `it moves most of the way to a new rate in ten seconds`() throws {
        var meter = Self.steady(1_000_000, seconds: 60)
        for step in 1...40 as ClosedRange<Int64> {
            meter.record(
                nowNanoseconds: 60 * Self.second + step * Self.second / 4,
                byteCount: 60_000_000 + step * 25_000)
        }
        let rate = try #require(meter.bytesPerSecond(nowNanoseconds: 70 * Self.second))
        #expect((150_000...300_000).contains(rate))
    }

    @Test func `it falls while no bytes come, recorded or not`() throws {
        let silent = Self.steady(1_000_000, seconds: 20)
        var last = try #require(silent.bytesPerSecond(nowNanoseconds: 20 * Self.second))
        for seconds in [22, 25, 40, 100] as [Int64] {
            let rate = try #require(silent.bytesPerSecond(nowNanoseconds: seconds * Self.second))
            #expect(rate < last)
            last = rate
        }
        #expect(last < 100_000)

        var recorded = silent
        for seconds in 21...60 as ClosedRange<Int64> {
            recorded.record(nowNanoseconds: seconds * Self.second, byteCount: 20_000_000)
        }
        let rate = try #require(recorded.bytesPerSecond(nowNanoseconds: 60 * Self.second))
        #expect(rate < 5_000)
    }

    @Test func `after a pause there is nothing until bytes come again`() {
        var meter = Self.steady(1_000_000, seconds: 5)
        meter.pause()
        #expect(meter.bytesPerSecond(nowNanoseconds: 6 * Self.second) == nil)
        meter.record(nowNanoseconds: 100 * Self.second, byteCount: 5_000_000)
        #expect(meter.bytesPerSecond(nowNanoseconds: 100 * Self.second) == nil)
        meter.record(nowNanoseconds: 101 * Self.second, byteCount: 5_500_000)
        #expect(meter.bytesPerSecond(nowNanoseconds: 101 * Self.second) == 500_000)
    }

    @Test func `records too close together lose no byte`() {
        var meter = SpeedMeter()
        for step in 0...1_000 as ClosedRange<Int64> {
            meter.record(nowNanoseconds: step * 1_000_000, byteCount: step * 1_000)
        }
        #expect(meter.bytesPerSecond(nowNanoseconds: Self.second) == 1_000_000)
    }

    @Test func `neither counts nor clocks that run backwards make a rate negative`() throws {
        var meter = Self.steady(1_000_000, seconds: 5)
        meter.record(nowNanoseconds: 6 * Self.second, byteCount: 10)
        meter.record(nowNanoseconds: 5 * Self.second, byteCount: 1_000_000)
        meter.record(nowNanoseconds: .max, byteCount: .max)
        meter.record(nowNanoseconds: .min, byteCount: 0)
        let rate = try #require(meter.bytesPerSecond(nowNanoseconds: .min))
        #expect(rate >= 0)
    }
}
