import Core
import Testing

@Suite struct RoomPolicyTests {
    @Test(
        arguments: [(0, 0), (-1, 0), (1 << 20, 10_485), (1 << 30, 10_737_418), (1 << 40, 64 << 20)]
            as [(Int64, Int64)])
    func `a hundredth of a volume is left free, at most 64 MiB`(total: Int64, floor: Int64) {
        #expect(RoomPolicy.floorByteCount(ofVolume: total) == floor)
    }

    @Test func `a download needs its rest, nothing if that is reserved, and a little if nobody knows`() {
        #expect(RoomPolicy.neededByteCount(total: 100, held: 30, isReserved: false) == 70)
        #expect(RoomPolicy.neededByteCount(total: 100, held: 130, isReserved: false) == 0)
        #expect(RoomPolicy.neededByteCount(total: 100, held: 30, isReserved: true) == 0)
        #expect(RoomPolicy.neededByteCount(total: nil, held: 30, isReserved: false) == RoomPolicy.minNeedByteCount)
    }

    @Test func `looks come less often, to 10 s, and tries to a minute`() {
        let looks = (0..<7).map { RoomPolicy.delayMilliseconds(lookCount: $0, isBlind: false) }
        #expect(looks == [1_000, 2_000, 4_000, 8_000, 10_000, 10_000, 10_000])
        #expect(RoomPolicy.delayMilliseconds(lookCount: 5, isBlind: true) == 32_000)
        #expect(RoomPolicy.delayMilliseconds(lookCount: .max, isBlind: true) == 60_000)
        #expect(RoomPolicy.delayMilliseconds(lookCount: .min, isBlind: true) == 1_000)
    }

    @Test(
        arguments: [
            ([10, 20, 30], 60, [0, 1, 2]), ([10, 20, 30], 59, [0, 1]), ([100, 20, 30], 50, [1, 2]),
            ([10, 0, 0], 10, [0]), ([10, 0], 0, []), ([0, 0], -1, []), ([0, 0], 1, [0, 1]), ([], 5, []),
            ([.max, .max, 5], .max, [0]),
        ] as [([Int64], Int64, [Int])])
    func `those that fit go on in their order, and one too large holds up nobody`(
        needs: [Int64], spare: Int64, admitted: [Int]
    ) {
        #expect(RoomPolicy.admitted(needs: needs, spare: spare, isBlind: false) == admitted)
    }

    @Test func `where the room is not known, or not to be believed, one goes first`() {
        #expect(RoomPolicy.admitted(needs: [5, 5], spare: nil, isBlind: false) == [0])
        #expect(RoomPolicy.admitted(needs: [50, 5, 5], spare: 20, isBlind: true) == [1])
        #expect(RoomPolicy.admitted(needs: [5], spare: 0, isBlind: true) == [])
    }
}
