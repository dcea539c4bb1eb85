/// Random-looking numbers and bytes, the same for the same seed in every run (SplitMix64).
package struct RandomBytes: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) {
        state = seed
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var value = state
        value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
        return value ^ (value >> 31)
    }

    package mutating func bytes(_ count: Int) -> [UInt8] {
        let wordCount = (count + 7) / 8
        return Array(
            unsafeUninitializedCapacity: wordCount * 8,
            initializingWith: { buffer, initializedCount in
                for index in 0..<wordCount {
                    UnsafeMutableRawBufferPointer(buffer).storeBytes(
                        of: next(), toByteOffset: index * 8, as: UInt64.self)
                }
                initializedCount = count
            }
        )
    }
}
