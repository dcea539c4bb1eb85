internal import CCrypto
internal import Core

/// A digest in progress.  Isolation: one thread at a time.  C: EVP_DigestInit_ex(3)
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

    /// Adds the first `count` bytes; false when libcrypto fails.
    borrowing func update(_ bytes: [UInt8], count: Int) -> Bool {
        // Safety: the array outlives the call, and the count is clamped to it.
        unsafe bytes.withUnsafeBytes { buffer in
            unsafe ccrypto_digest_update(context, buffer.baseAddress, min(count, buffer.count))
        }
    }

    /// The digest in lower-case hexadecimal; nil when libcrypto fails.
    consuming func hexadecimal() -> String? {
        guard let bytes = bytes() else { return nil }
        let digits = Array("0123456789abcdef".utf8)
        let text = bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        return String(decoding: text, as: UTF8.self)
    }

    /// The digest; nil when libcrypto fails.
    consuming func bytes() -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: CCRYPTO_MAX_DIGEST_SIZE)
        // Safety: the buffer is as long as the longest digest.
        let count = unsafe bytes.withUnsafeMutableBufferPointer { buffer in
            unsafe buffer.baseAddress.map { unsafe ccrypto_digest_final(context, $0) } ?? 0
        }
        return count == 0 ? nil : Array(bytes.prefix(Int(count)))
    }
}

/// The SHA-256 of bytes in memory, in lower-case hexadecimal; nil when libcrypto fails.  Isolation: any thread.
package func sha256(_ bytes: [UInt8]) -> String? {
    guard let digest = Digest(.sha256), digest.update(bytes, count: bytes.count) else { return nil }
    return digest.hexadecimal()
}

/// The HMAC-SHA-256 of a message (RFC 2104), in lower-case hexadecimal; nil when libcrypto fails.  Isolation: any thread.
///
/// - Parameter key: at most 64 bytes, the block size of the digest.
package func hmacSHA256(_ message: [UInt8], key: [UInt8]) -> String? {
    let block = key.prefix(64) + [UInt8](repeating: 0, count: max(0, 64 - key.count))
    guard let inner = digest(block.map { $0 ^ 0x36 } + message)?.bytes() else { return nil }
    return digest(block.map { $0 ^ 0x5c } + inner)?.hexadecimal()
}

private func digest(_ bytes: [UInt8]) -> Digest? {
    guard let digest = Digest(.sha256), digest.update(bytes, count: bytes.count) else { return nil }
    return digest
}
