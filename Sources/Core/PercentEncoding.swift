/// Percent-encoding (RFC 3986, 2.1).
package enum PercentEncoding {
    private static let digits = Array("0123456789ABCDEF".utf8)

    /// Text of unreserved characters and `/`, `:`, `,`, `"`; every other byte is encoded.
    package static func encode(_ text: String) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            if byte.isASCIIAlphanumeric || "-._~/:,\"".utf8.contains(byte) {
                bytes.append(byte)
            } else {
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The decoded bytes; a `%` without two hexadecimal digits after it is kept.
    package static func decode(_ text: some StringProtocol) -> [UInt8] { decode(text.utf8) }

    /// The same, for text that may be no UTF-8.
    package static func decode(_ encoded: some Collection<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        var rest = encoded[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let high = rest.first?.hexDigitValue,
                let low = rest.dropFirst().first?.hexDigitValue
            {
                result.append(high << 4 | low)
                rest = rest.dropFirst(2)
            } else {
                result.append(byte)
            }
        }
        return result
    }

    /// The bytes as UTF-8 if they are valid UTF-8, else as Latin-1.
    static func text(_ bytes: [UInt8]) -> String {
        String(validating: bytes, as: UTF8.self) ?? latin1(bytes)
    }

    /// One scalar for each byte.
    static func latin1(_ bytes: [UInt8]) -> String {
        var scalars = String.UnicodeScalarView()
        scalars.append(contentsOf: bytes.map { Unicode.Scalar($0) })
        return String(scalars)
    }
}
