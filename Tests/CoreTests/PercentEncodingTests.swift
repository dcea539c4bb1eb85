import Testing

@testable import Core

@Suite struct PercentEncodingTests {
    @Test(arguments: [
        ("a%20b", "a b"), ("%41%5a%5A", "AZZ"), ("100%", "100%"), ("%4", "%4"), ("%+5", "%+5"), ("%-1", "%-1"),
        ("% 5", "% 5"), ("%%41", "%A"), ("%c3%bc", "ü"), ("", ""), ("%e2%82%ac%zz", "€%zz"),
    ])
    func `a percent sign that two hexadecimal digits do not follow is kept`(encoded: String, text: String) {
        #expect(String(decoding: PercentEncoding.decode(encoded), as: UTF8.self) == text)
        #expect(PercentEncoding.decode(Array(encoded.utf8)) == PercentEncoding.decode(encoded))
    }

    @Test func `what is encoded is decoded to the same text`() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<500 {
            let scalars = (0..<20).compactMap { _ in Unicode.Scalar(UInt32.random(in: 0..<0x3000, using: &generator)) }
            var text = String.UnicodeScalarView()
            text.append(contentsOf: scalars)
            let encoded = PercentEncoding.encode(String(text))
            #expect(encoded.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "&") })
            #expect(String(decoding: PercentEncoding.decode(encoded), as: UTF8.self) == String(text))
        }
    }
}
