import Core
import Files
import Platform
import Testing

@Suite struct DigestTests {
    /// FIPS 180-4 and RFC 1321: examples for "abc" and the empty message.
    @Test(arguments: [
        ("abc", Checksum.Algorithm.md5, "900150983cd24fb0d6963f7d28e17f72"),
        ("", .md5, "d41d8cd98f00b204e9800998ecf8427e"),
        ("abc", .sha1, "a9993e364706816aba3e25717850c26c9cd0d89d"),
        ("", .sha1, "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
        ("abc", .sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        ("", .sha256, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        (
            "abc", .sha512,
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
                + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
        ),
    ])
    func `published examples come out right`(text: String, algorithm: Checksum.Algorithm, expected: String) throws {
        try withWorkshop { shop in
            let file = try shop.create("f.towline", text)
            let digest = try shop.run(.digest(file, algorithm, cancellation: CancellationFlag())).digested()
            #expect(digest == FileDigest(hexadecimal: expected, byteCount: Int64(text.utf8.count)))
            #expect(digest.hexadecimal.count == algorithm.hexDigitCount)
        }
    }

    @Test(arguments: [(1 << 20) - 1, 1 << 20, (1 << 20) + 1])
    func `a million letters a, and lengths around a slice, are read whole`(byteCount: Int) throws {
        try withWorkshop { shop in
            let file = try shop.create()
            let bytes = [UInt8](repeating: UInt8(ascii: "a"), count: byteCount)
            #expect(try shop.run(.write(file, buffer(bytes), offset: 0, mark: nil)).isWritten)
            let whole = try shop.run(.digest(file, .sha256, cancellation: CancellationFlag())).digested()
            #expect(whole.byteCount == Int64(byteCount))
            guard case .truncated = try shop.run(.truncate(file, to: 1_000_000)) else { throw CancellationError() }
            let million = try shop.run(.digest(file, .sha256, cancellation: CancellationFlag())).digested()
            #expect(million.hexadecimal == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
            #expect(whole.hexadecimal != million.hexadecimal)
        }
    }

    @Test func `a digest that is no longer wanted is given up`() throws {
        try withWorkshop { shop in
            let file = try shop.create("f.towline", "abc")
            let flag = CancellationFlag()
            flag.cancel()
            #expect(try shop.run(.digest(file, .sha1, cancellation: flag)).error().reason == .canceled)
            #expect(file.poison == nil)
        }
    }
}
