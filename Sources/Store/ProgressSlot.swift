internal import Core
internal import Platform

/// The format of a progress record in its slot: little-endian 64-bit words, the first a checksum of the others.
///
/// | word | content |
/// | --- | --- |
///
///  0
///  checksum, never 0: so a hole is not a record
///
/// | 1 | format, `TWLPROG1` |
/// | 2 | byte counts of id and boot id, number of ranges: 8, 8 and 16 bits from the lowest |
/// | 3…7 | attempt, device, inode, mount id, mount id known |
/// | 8…12 | boot id, padded with 0 |
/// | 13…20 | download id, padded with 0 |
/// | 21… | lower and upper bound of each range |
package enum ProgressSlot {
    package static let byteCount = 4096
    /// Maximum number of ranges that fit: the first and the largest are kept; the others are downloaded again after a
    /// crash.
    package static let maxRangeCount = (byteCount / 8 - rangesWord) / 2

    private static let format: UInt64 = 0x3147_4f52_504c_5754
    private static let bootIDWord = 8
    private static let downloadIDWord = 13
    private static let rangesWord = 21

    /// At most `byteCount` bytes, a multiple of 8.
    package static func encode(_ record: ProgressRecord) -> [UInt8] {
        let ranges = kept(record.written.ranges)
        let id = record.downloadID.utf8
        let boot = record.bootID.utf8
        var words: [UInt64] = []
        words.reserveCapacity(rangesWord + 2 * ranges.count)
        words.append(0)
        words.append(format)
        words.append(UInt64(id.count) | UInt64(boot.count) << 8 | UInt64(ranges.count) << 16)
        words.append(UInt64(bitPattern: record.attempt))
        words.append(record.partial.device)
        words.append(record.partial.inode)
        words.append(UInt64(bitPattern: record.mountID ?? 0))
        words.append(record.mountID == nil ? 0 : 1)
        append(boot, wordCount: downloadIDWord - bootIDWord, to: &words)
        append(id, wordCount: rangesWord - downloadIDWord, to: &words)
        for range in ranges {
            words.append(UInt64(bitPattern: range.lowerBound))
            words.append(UInt64(bitPattern: range.upperBound))
        }
        words[0] = checksum(words[1...])
        return bytes(words)
    }

    /// Nil unless it is a complete record of this format; bytes after it are ignored.
    package static func decode(_ bytes: [UInt8]) -> ProgressRecord? {
        let words = words(bytes.prefix(byteCount))
        guard words.count >= rangesWord, words[1] == format, words[2] >> 32 == 0 else { return nil }
        let idByteCount = Int(words[2] & 0xff)
        let bootByteCount = Int(words[2] >> 8 & 0xff)
        let rangeCount = Int(words[2] >> 16)
        let end = rangesWord + 2 * rangeCount
        guard idByteCount <= ProgressRecord.maxDownloadIDByteCount,
            bootByteCount <= ProgressRecord.maxBootIDByteCount,
            rangeCount <= maxRangeCount, end <= words.count,
            words[0] == checksum(words[1..<end]), words[7] <= 1
        else { return nil }
        var ranges: [ByteRange] = []
        ranges.reserveCapacity(rangeCount)
        for index in stride(from: rangesWord, to: end, by: 2) {
            guard let range = ByteRange(Int64(bitPattern: words[index]), Int64(bitPattern: words[index + 1])),
                range.lowerBound > (ranges.last?.upperBound ?? -1), range.upperBound <= Limits.fileByteCount
            else { return nil }
            ranges.append(range)
        }
        return ProgressRecord(
            downloadID: text(words[downloadIDWord..<rangesWord], byteCount: idByteCount),
            attempt: Int64(bitPattern: words[3]),
            partial: FileIdentity(device: words[4], inode: words[5]),
            bootID: text(words[bootIDWord..<downloadIDWord], byteCount: bootByteCount),
            mountID: words[7] == 1 ? Int64(bitPattern: words[6]) : nil,
            written: ByteRangeSet(ranges)
        )
    }

    private static func kept(_ ranges: [ByteRange]) -> [ByteRange] {
        guard ranges.count > maxRangeCount, let first = ranges.first else { return ranges }
        let largest = ranges.dropFirst().sorted { $0.byteCount > $1.byteCount }.prefix(maxRangeCount - 1)
        return ([first] + largest).sorted { $0.lowerBound < $1.lowerBound }
    }

    // Each step is one-to-one in the word, so a single damaged word is always detected.
    private static func checksum(_ words: ArraySlice<UInt64>) -> UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for word in words {
            hash = (hash ^ word) &* 0x9e37_79b9_7f4a_7c15
            hash ^= hash >> 32
        }
        return hash == 0 ? 1 : hash
    }

    private static func append(_ text: String.UTF8View, wordCount: Int, to words: inout [UInt64]) {
        let start = words.count
        words.append(contentsOf: repeatElement(0, count: wordCount))
        for (index, byte) in text.enumerated() {
            words[start + index / 8] |= UInt64(byte) << UInt64(index % 8 * 8)
        }
    }

    private static func text(_ words: ArraySlice<UInt64>, byteCount: Int) -> String {
        String(decoding: bytes(Array(words)).prefix(byteCount), as: UTF8.self)
    }

    private static func bytes(_ words: [UInt64]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(words.count * 8)
        for word in words {
            for shift: UInt64 in stride(from: 0, to: 64, by: 8) {
                bytes.append(UInt8(truncatingIfNeeded: word >> shift))
            }
        }
        return bytes
    }

    private static func words(_ bytes: ArraySlice<UInt8>) -> [UInt64] {
        var words: [UInt64] = []
        words.reserveCapacity(bytes.count / 8)
        var index = bytes.startIndex
        while bytes.endIndex - index >= 8 {
            var word: UInt64 = 0
            for offset in 0..<8 { word |= UInt64(bytes[index + offset]) << UInt64(offset * 8) }
            words.append(word)
            index += 8
        }
        return words
    }
}
