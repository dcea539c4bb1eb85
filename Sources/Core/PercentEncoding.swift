/// Decodes percent-encoding (RFC 3986, 2.1).
enum PercentEncoding {
    /// The decoded bytes; a `%` without two hexadecimal digits after it is kept.
    static func decode(_ text: some StringProtocol) -> [UInt8] {
        var result: [UInt8] = []
        var rest = Substring(text).utf8
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2)
            if byte == UInt8(ascii: "%"), digits.count == 2, let high = digits.first?.hexDigitValue,
                let low = digits.last?.hexDigitValue
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
