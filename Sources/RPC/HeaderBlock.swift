/// The header fields before a message in header framing; only the length matters.
struct HeaderBlock: Sendable {
    enum Step: Equatable {
        /// The block continues.
        case more
        /// The empty line was read; the length is nil if no field had it.
        case end(contentLength: Int?)
        case malformed
    }

    /// Bytes of the lines so far.
    private(set) var byteCount = 0
    private var contentLength: Int?

    private static let contentLengthName = Array("content-length".utf8)
    private static let openings = [contentLengthName + [UInt8(ascii: ":")], Array("content-type:".utf8)]

    /// Whether a stream that begins with these bytes uses header framing; nil while they are too few to tell.
    static func looksLikeHeader(_ bytes: [UInt8]) -> Bool? {
        let start = bytes.map(lowercased)
        if openings.contains(where: { start.starts(with: $0) }) { return true }
        return openings.contains { $0.starts(with: start) } ? nil : false
    }

    /// Takes a line without its end.
    mutating func take(_ line: [UInt8]) -> Step {
        if line.isEmpty && byteCount > 0 { return .end(contentLength: contentLength) }
        // Some writers end a body with a newline that they do not count.
        if line.allSatisfy(isBlank) && byteCount == 0 { return .more }
        byteCount += line.count + 1
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return .malformed }
        let name = line[..<colon].map(lowercased)
        // JSON has colons too, but always a quote before the first.
        if name.isEmpty || !name.allSatisfy(isNameCharacter) { return .malformed }
        if name != HeaderBlock.contentLengthName { return .more }
        guard let length = HeaderBlock.length(line[(colon + 1)...]) else { return .malformed }
        // With two different lengths, another reader might choose the other one.
        if let contentLength, contentLength != length { return .malformed }
        contentLength = length
        return .more
    }

    private static func length(_ text: ArraySlice<UInt8>) -> Int? {
        var digits = text.drop(while: isBlank)
        while let last = digits.last, isBlank(last) { digits.removeLast() }
        if digits.isEmpty { return nil }
        var value = 0
        for digit in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            let (tens, isTooLong) = value.multipliedReportingOverflow(by: 10)
            let (next, isTooMuch) = tens.addingReportingOverflow(Int(digit - UInt8(ascii: "0")))
            if isTooLong || isTooMuch { return nil }
            value = next
        }
        return value
    }
}

private func lowercased(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte + 32 : byte
}

private func isNameCharacter(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
    case UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."): true
    default: false
    }
}
