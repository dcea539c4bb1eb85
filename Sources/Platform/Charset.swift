internal import CPlatform

/// Decodes text in any charset that the system knows.  Isolation: any thread.
package enum Charset {
    /// The decoded text; nil when the charset is unknown or the bytes are invalid in it.  C: iconv(3)
    ///
    /// May read a table of the C library from disk on the first use of a charset.
    package static func decode(_ charset: String, _ bytes: [UInt8]) -> String? {
        // iconv would read more than a charset name into `/`; no name has a NUL.
        guard !charset.isEmpty, charset.utf8.count <= 64, !charset.utf8.contains(where: { $0 == 0x2f || $0 == 0 })
        else {
            return nil
        }
        // One byte is at most one character, which is up to four bytes of UTF-8; a few charsets give several
        // characters.
        let capacity = 8 * bytes.count + 8
        var isWhole = false
        let text = unsafe [UInt8](unsafeUninitializedCapacity: capacity) { output, count in
            // Safety: both blocks exist during the call, and their sizes are passed.
            let made = unsafe bytes.withUnsafeBytes { input in
                unsafe cplatform_to_utf8(charset, input.baseAddress, input.count, output.baseAddress, capacity)
            }
            isWhole = made >= 0
            count = max(0, made)
        }
        return isWhole ? String(validating: text, as: UTF8.self) : nil
    }
}
