import Testing

@testable import Core

@Suite struct ByteRangeSetTests {
    /// The simplest model: one flag per byte.
    private struct Bitmap {
        var bits = [Bool](repeating: false, count: 64)

        mutating func insert(_ range: ByteRange) {
            for offset in Int(range.lowerBound)..<Int(range.upperBound) { bits[offset] = true }
        }

        func runs(of value: Bool, upTo end: Int) -> [ByteRange] {
            var result: [ByteRange] = []
            var start: Int?
            for offset in 0...end {
                let isIn = offset < end && bits[offset] == value
                if isIn, start == nil { start = offset }
                if !isIn, let first = start {
                    if let run = ByteRange(Int64(first), Int64(offset)) { result.append(run) }
                    start = nil
                }
            }
            return result
        }
    }

    private static func randomRange(_ generator: inout SeededGenerator) -> ByteRange? {
        let lower = Int64.random(in: 0..<63, using: &generator)
        return ByteRange(lower, Int64.random(in: lower + 1...64, using: &generator))
    }

    private static func randomPair(_ generator: inout SeededGenerator) -> (ByteRangeSet, Bitmap) {
        var set = ByteRangeSet()
        var model = Bitmap()
        for _ in 0..<Int.random(in: 0...6, using: &generator) {
            guard let lower = (0..<63).randomElement(using: &generator),
                let range = ByteRange(Int64(lower), Int64(min(64, lower + Int.random(in: 1...9, using: &generator))))
            else { continue }
            set.insert(range)
            model.insert(range)
        }
        return (set, model)
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func `insertions in any order agree with a bitmap after each step`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<100 {
            var (set, model) = Self.randomPair(&generator)
            for _ in 0..<4 {
                guard let range = Self.randomRange(&generator) else { continue }
                set.insert(range)
                model.insert(range)
                #expect(set.ranges == model.runs(of: true, upTo: 64))
            }
        }
    }

    @Test(arguments: [11, 12, 13, 14] as [UInt64])
    func `queries agree with a bitmap`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<150 {
            let (set, model) = Self.randomPair(&generator)
            let end = Int.random(in: 0...64, using: &generator)
            #expect(set.byteCount == Int64(model.bits.count { $0 }))
            #expect(set.isEmpty == !model.bits.contains(true))
            #expect(set.contiguousByteCount == Int64(model.bits.prefix { $0 }.count))
            #expect(set.gaps(upTo: Int64(end)) == model.runs(of: false, upTo: end))
            #expect(set.clipped(to: Int64(end)).ranges == model.runs(of: true, upTo: end))
            #expect(set.isComplete(Int64(end)) == model.bits[..<end].allSatisfy { $0 })
            if let range = Self.randomRange(&generator) {
                let inModel = model.bits[Int(range.lowerBound)..<Int(range.upperBound)].allSatisfy { $0 }
                #expect(set.contains(range) == inModel)
            }
        }
    }

    @Test(arguments: [21, 22] as [UInt64])
    func `union and intersection agree with bitmaps`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<150 {
            let (left, leftModel) = Self.randomPair(&generator)
            let (right, rightModel) = Self.randomPair(&generator)
            var either = Bitmap()
            var both = Bitmap()
            for offset in 0..<64 {
                either.bits[offset] = leftModel.bits[offset] || rightModel.bits[offset]
                both.bits[offset] = leftModel.bits[offset] && rightModel.bits[offset]
            }
            #expect(left.union(right).ranges == either.runs(of: true, upTo: 64))
            #expect(left.intersection(right).ranges == both.runs(of: true, upTo: 64))
            #expect(ByteRangeSet((left.ranges + right.ranges).shuffled(using: &generator)) == left.union(right))
        }
    }

    @Test(
        arguments: [
            Row("empty", (5, 5), false), Row("backwards", (6, 5), false), Row("negative", (-1, 5), false),
            Row("one byte", (0, 1), true), Row("the largest", (0, .max), true),
            Row("the last byte there is", (.max - 1, .max), true),
        ] as [Row<(Int64, Int64), Bool>])
    func `a range has bounds in order`(row: Row<(Int64, Int64), Bool>) {
        #expect((ByteRange(row.input.0, row.input.1) != nil) == row.expected)
        #expect(ByteRangeSet(row.input.0, row.input.1).isEmpty != row.expected)
    }

    @Test func `bounds at the end of the integers do not overflow`() {
        var set = ByteRangeSet(0, .max - 1)
        if let last = ByteRange(.max - 1, .max) { set.insert(last) }
        #expect(set == ByteRangeSet(0, .max))
        #expect(set.byteCount == .max)
        #expect(set.gaps(upTo: .max).isEmpty)
    }
}
