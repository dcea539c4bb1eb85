import Testing

@testable import Core

@Suite struct TrailTests {
    private func hop(_ number: Int) -> Trail.Hop {
        Trail.Hop(url: "http://h/\(number)", status: 200, remoteAddress: nil, atUnixMilliseconds: Int64(number))
    }

    @Test func `the newest hops and attempts are kept`() {
        var trail = Trail()
        for number in 0..<100 {
            trail.add(hop(number))
            trail.beginAttempt(atUnixMilliseconds: Int64(number), requestedRange: nil)
        }
        #expect(trail.hops.map(\.atUnixMilliseconds) == Array(60..<100))
        #expect(trail.attempts.map(\.startedAtUnixMilliseconds) == Array(80..<100))
    }

    @Test func `the last attempt is changed, and without one nothing`() {
        var trail = Trail()
        trail.updateAttempt { $0.receivedByteCount = 1 }
        #expect(trail.attempts.isEmpty)
        trail.beginAttempt(atUnixMilliseconds: 1, requestedRange: "bytes=5-")
        trail.beginAttempt(atUnixMilliseconds: 2, requestedRange: nil)
        trail.updateAttempt { $0.receivedByteCount = 7 }
        #expect(trail.attempts.map(\.receivedByteCount) == [0, 7])
    }

    @Test func `of downloads that are over the latest are kept, and none without an attempt`() {
        var ended = EndedTrails()
        ended.keep(Trail(), id: "empty")
        #expect(ended["empty"] == nil)
        var trail = Trail()
        trail.beginAttempt(atUnixMilliseconds: 1, requestedRange: nil)
        for number in 0..<(EndedTrails.maxCount + 5) { ended.keep(trail, id: "d\(number)") }
        #expect(ended["d4"] == nil)
        #expect(ended["d5"] != nil)
        // The same one again takes no place of another.
        ended.keep(trail, id: "d5")
        #expect(ended["d6"] != nil)
    }
}
