internal import CPlatform

/// Text in any charset that the system knows.  Any thread.
package enum Charset {
    /// The text that the bytes spell in a charset; nil when it is unknown, or the bytes are not of it.  C: iconv(3)
    ///
    /// May read a table of the C library from the disk when a charset is first met.
    package static func decode(_ charset: String, _ bytes: [UInt8]) -> String? {
        // `/` would ask for more than a charset; no name has a NUL.
        guard !charset.isEmpty, charset.utf8.count <= 64, !charset.utf8.contains(where: { $0 == 0x2f || $0 == 0 })
        else {
            return nil
        }
        // One byte is one character at most, and four bytes of UTF-8; composed ones become several in few charsets.
        let capacity = 8 * bytes.count + 8
        var isWhole = false
        let text = unsafe [UInt8](unsafeUninitializedCapacity: capacity) { output, count in
            // Safety: both blocks live as long as the call, and their sizes go along.
            let made = unsafe bytes.withUnsafeBytes { input in
                unsafe cplatform_to_utf8(charset, input.baseAddress, input.count, output.baseAddress, capacity)
            }
            isWhole = made >= 0
            count = max(0, made)
        }
        return isWhole ? String(validating: text, as: UTF8.self) : nil
    }
}
