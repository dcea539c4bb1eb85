internal import CCurl

/// Dates in header fields.
package enum HTTPDate {
    /// Seconds since 1970 for a date in one of HTTP's three forms; nil for any other text (RFC 9110, 5.6.7).
    ///
    /// Two-digit years above 70 are in the 20th century. Isolation: any thread.  C: curl_getdate(3)
    package static func parse(_ text: String) -> Int64? {
        // curl_getdate accepts far more forms: we check the shape, curl_getdate checks names and numbers.
        guard hasDateShape(text) else { return nil }
        let seconds = unsafe curl_getdate(text, nil)
        return seconds == -1 ? nil : Int64(seconds)
    }

    private static func hasDateShape(_ text: String) -> Bool {
        let bytes = text.utf8
        guard let comma = bytes.firstIndex(of: UInt8(ascii: ",")) else {
            return matches(bytes, "Aaa Aaa _D DD:DD:DD DDDD")  // asctime
        }
        let rest = bytes[comma...].dropFirst()
        switch bytes.distance(from: bytes.startIndex, to: comma) {
        case 3: return matches(rest, " DD Aaa DDDD DD:DD:DD GMT")  // IMF-fixdate
        case 6...9: return matches(rest, " DD-Aaa-DD DD:DD:DD GMT")  // RFC 850
        default: return false
        }
    }

    /// In the pattern, D is a digit, _ a digit or a space, A an upper-case letter, a a lower-case one; others match
    /// themselves.
    private static func matches(_ bytes: some Collection<UInt8>, _ pattern: String) -> Bool {
        bytes.count == pattern.utf8.count
            && zip(bytes, pattern.utf8).allSatisfy { byte, symbol in
                switch symbol {
                case UInt8(ascii: "D"): (0x30...0x39).contains(byte)
                case UInt8(ascii: "_"): (0x30...0x39).contains(byte) || byte == 0x20
                case UInt8(ascii: "A"): (0x41...0x5a).contains(byte)
                case UInt8(ascii: "a"): (0x61...0x7a).contains(byte)
                default: byte == symbol
                }
            }
    }
}
