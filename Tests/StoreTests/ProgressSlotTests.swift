import Core
import Platform
import Store
import Testing

@Suite struct ProgressSlotTests {
    @Test(arguments: [0, 1, 2, 4, 100, ProgressSlot.maxRangeCount])
    func `a record comes back as it went in`(rangeCount: Int) throws {
        let ranges = (0..<rangeCount).compactMap { ByteRange(Int64($0) * 100, Int64($0) * 100 + 50) }
        let record = try progress("a.b-c_1", ByteRangeSet(ranges))
        let bytes = ProgressSlot.encode(record)
        #expect(bytes.count <= ProgressSlot.byteCount)
        #expect(ProgressSlot.decode(bytes) == record)
        #expect(ProgressSlot.decode(bytes + [UInt8](repeating: 0xff, count: 4096)) == record)
    }

    @Test func `extreme values come back as they went in`() throws {
        let record = try #require(
            ProgressRecord(
                downloadID: String(repeating: "z", count: 64),
                attempt: .min,
                partial: FileIdentity(device: .max, inode: .max),
                bootID: String(repeating: "b", count: 40),
                mountID: nil,
                written: ByteRangeSet(Limits.fileByteCount - 1, Limits.fileByteCount)
            )
        )
        #expect(ProgressSlot.decode(ProgressSlot.encode(record)) == record)
    }

    @Test func `a range beyond the longest file makes no record`() throws {
        let record = try #require(
            ProgressRecord(
                downloadID: "d", attempt: 1, partial: FileIdentity(device: 1, inode: 1), bootID: "b", mountID: nil,
                written: ByteRangeSet(0, .max)))
        #expect(ProgressSlot.decode(ProgressSlot.encode(record)) == nil)
    }

    @Test(arguments: [("", ""), (String(repeating: "a", count: 65), ""), ("a", String(repeating: "b", count: 41))])
    func `identifiers that do not fit make no record`(id: String, bootID: String) {
        let partial = FileIdentity(device: 1, inode: 1)
        let record = ProgressRecord(
            downloadID: id,
            attempt: 1,
            partial: partial,
            bootID: bootID,
            mountID: 1,
            written: ByteRangeSet()
        )
        #expect(record == nil)
    }

    @Test func `of too many ranges the first and the largest are kept`() throws {
        let ranges = (0..<1000).compactMap { index in
            ByteRange(Int64(index) * 1000, Int64(index) * 1000 + (index == 0 ? 1 : Int64(index) % 500 + 2))
        }
        let all = try progress("a", ByteRangeSet(ranges))
        let decoded = try #require(ProgressSlot.decode(ProgressSlot.encode(all)))
        #expect(decoded.written.ranges.count == ProgressSlot.maxRangeCount)
        #expect(decoded.written.ranges.first == ranges.first)
        #expect(decoded.written.intersection(all.written) == decoded.written)
        let left = ranges.filter { !decoded.written.contains($0) }
        let smallestKept = decoded.written.ranges.dropFirst().map(\.byteCount).min() ?? 0
        #expect(left.allSatisfy { $0.byteCount <= smallestKept })
    }

    @Test func `zeros and short reads say nothing`() throws {
        let bytes = ProgressSlot.encode(try progress("a", ByteRangeSet(0, 100)))
        #expect(ProgressSlot.decode([]) == nil)
        #expect(ProgressSlot.decode([UInt8](repeating: 0, count: 4096)) == nil)
        for count in 0..<bytes.count { #expect(ProgressSlot.decode(Array(bytes.prefix(count))) == nil) }
    }

    @Test func `a mutated slot never decodes to something else`() throws {
        var random = SeededGenerator(seed: 20_240_607)
        let record = try progress(
            "download-1",
            ByteRangeSet((0..<20).compactMap { ByteRange($0 * 1_000_000, $0 * 1_000_000 + 65_536) })
        )
        let original = ProgressSlot.encode(record)
        for _ in 0..<5_000 {
            var bytes = original
            switch Int.random(in: 0..<4, using: &random) {
            case 0:
                for _ in 0..<Int.random(in: 1...8, using: &random) {
                    let index = Int.random(in: 0..<bytes.count, using: &random)
                    bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                }
            case 1:
                let index = Int.random(in: 0..<bytes.count, using: &random)
                bytes[index] = UInt8.random(in: 0...255, using: &random)
            case 2: bytes.removeLast(Int.random(in: 1...bytes.count, using: &random))
            default:
                // A torn write: the end of an older record after the beginning of this one.
                let cut = Int.random(in: 0..<bytes.count, using: &random)
                for index in cut..<bytes.count { bytes[index] = UInt8.random(in: 0...255, using: &random) }
            }
            let decoded = ProgressSlot.decode(bytes)
            #expect(decoded == nil || (decoded == record && bytes == original))
        }
    }

    @Test func `marks hold only on the same boot, mount and partial`() throws {
        let record = try progress("a", ByteRangeSet(0, 100))
        let partial = record.partial
        let stranger = FileIdentity(device: 7, inode: 12)
        #expect(record.holds(bootID: record.bootID, mountID: 29, partial: partial))
        #expect(!record.holds(bootID: "other", mountID: 29, partial: partial))
        #expect(!record.holds(bootID: "", mountID: 29, partial: partial))
        #expect(!record.holds(bootID: record.bootID, mountID: 30, partial: partial))
        #expect(!record.holds(bootID: record.bootID, mountID: nil, partial: partial))
        #expect(!record.holds(bootID: record.bootID, mountID: 29, partial: stranger))
    }

    @Test func `slots are given out once and again after they came back`() {
        var slots = ProgressSlots()
        let taken = (0..<ProgressSlots.maxCount).compactMap { _ in slots.take() }
        #expect(Set(taken).count == ProgressSlots.maxCount)
        #expect(slots.take() == nil)
        slots.giveBack(17)
        #expect(slots.take() == 17)
        #expect(slots.take() == nil)
    }
}
