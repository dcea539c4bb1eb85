/// A pass over a text before jansson builds a tree of it: enforces the limits and notes where the numbers are.
///
/// It does not check syntax. For valid JSON it is exact; any other text is refused by jansson anyway.
@safe struct JSONScan {
    /// The places of the numbers, in order.
    private(set) var numbers: [Range<Int>] = []
    private var depth = 0
    private var elementCount = 0

    init(_ bytes: UnsafeRawBufferPointer) throws(JSONParseError) {
        var offset = 0
        while offset < bytes.count {
            let byte = unsafe bytes[offset]
            switch byte {
            case UInt8(ascii: "\""):
                offset = unsafe JSONScan.endOfString(in: bytes, from: offset + 1)
                continue
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                depth += 1
                if depth > JSONLimits.depth { throw JSONParseError(kind: .tooDeep, byteOffset: offset) }
                // Counts the first element; each comma counts one more.
                try countElement(at: offset)
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                depth -= 1
            case UInt8(ascii: ","):
                try countElement(at: offset)
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                let start = offset
                while unsafe offset < bytes.count && JSONScan.isInNumber(bytes[offset]) { offset += 1 }
                numbers.append(start..<offset)
                continue
            case 0:
                // jansson takes a NUL after a top-level number for the end of the text.
                throw JSONParseError(kind: .syntax, byteOffset: offset)
            default:
                break
            }
            offset += 1
        }
    }

    private mutating func countElement(at offset: Int) throws(JSONParseError) {
        elementCount += 1
        if elementCount > JSONLimits.elementCount { throw JSONParseError(kind: .tooManyElements, byteOffset: offset) }
    }

    /// The offset after a string's closing quote.
    private static func endOfString(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
        var offset = start
        while offset < bytes.count {
            switch unsafe bytes[offset] {
            case UInt8(ascii: "\""): return offset + 1
            case UInt8(ascii: "\\"): offset += 2
            default: offset += 1
            }
        }
        return bytes.count
    }

    private static func isInNumber(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"): true
        default: false
        }
    }
}
