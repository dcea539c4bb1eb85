internal import CCrypto
internal import Core

/// A digest being made.  Isolation: one thread at a time.  C: EVP_DigestInit_ex(3)
@safe struct Digest: ~Copyable {
    private let context: OpaquePointer

    /// Nil when libcrypto does not offer the algorithm.
    init?(_ algorithm: Checksum.Algorithm) {
        let name =
            switch algorithm {
            case .sha256: "SHA256"
            case .sha512: "SHA512"
            case .sha1: "SHA1"
            case .md5: "MD5"
            }
        guard let context = unsafe ccrypto_digest_new(name) else { return nil }
        unsafe self.context = unsafe context
    }

    deinit { unsafe ccrypto_digest_free(context) }

    /// Takes the first `count` bytes in; false when libcrypto fails.
    borrowing func update(_ bytes: [UInt8], count: Int) -> Bool {
        // Safety: the array outlives the call, and the count is clamped to it.
        unsafe bytes.withUnsafeBytes { buffer in
            unsafe ccrypto_digest_update(context, buffer.baseAddress, min(count, buffer.count))
        }
    }

    /// The digest in lower-case hexadecimal; nil when libcrypto fails.
    consuming func hexadecimal() -> String? {
        var bytes = [UInt8](repeating: 0, count: CCRYPTO_MAX_DIGEST_SIZE)
        // Safety: the buffer is as long as the longest digest.
        let count = unsafe bytes.withUnsafeMutableBufferPointer { buffer in
            unsafe buffer.baseAddress.map { unsafe ccrypto_digest_final(context, $0) } ?? 0
        }
        if count == 0 { return nil }
        let digits = Array("0123456789abcdef".utf8)
        let text = bytes.prefix(Int(count)).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        return String(decoding: text, as: UTF8.self)
    }
}

/// The SHA-256 of bytes that are in memory, in lower-case hexadecimal; nil when libcrypto fails.  Isolation: any thread.
package func sha256(_ bytes: [UInt8]) -> String? {
    guard let digest = Digest(.sha256), digest.update(bytes, count: bytes.count) else { return nil }
    return digest.hexadecimal()
}
