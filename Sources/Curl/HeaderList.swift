internal import CCurl
package import Core

/// The header fields of one request in libcurl's form.  C: curl_slist_append(3)
///
/// libcurl does not copy the list: it must outlive the easy handle that it is set on.
@safe struct HeaderList: ~Copyable {
    // Safety: grown only by `append`, freed once, in deinit; lent to a handle that is cleaned up before.
    private(set) var raw: UnsafeMutablePointer<curl_slist>?

    init() {
        unsafe raw = nil
    }

    deinit { unsafe curl_slist_free_all(raw) }

    /// Adds one field; throws when a name is no token or a value would end the line (RFC 9110, 5.1 and 5.5).
    mutating func append(_ field: HeaderField) throws(CurlError) {
        guard HeaderList.isValid(field) else {
            let detail = "a header field's name or value has characters that HTTP does not allow"
            throw CurlError(code: Int(CURLE_BAD_FUNCTION_ARGUMENT.rawValue), operation: "slist_append", detail: detail)
        }
        // `Name;` is libcurl's way to send a field without a value; `Name:` would remove it.
        let line = field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)"
        guard let longer = unsafe curl_slist_append(raw, line) else {
            throw CurlError(CURLE_OUT_OF_MEMORY, "slist_append")
        }
        unsafe raw = longer
    }

    /// True for a field that can be sent as it is.
    static func isValid(_ field: HeaderField) -> Bool {
        !field.name.isEmpty && field.name.utf8.allSatisfy(isTokenByte)
            && field.value.utf8.allSatisfy { ($0 >= 0x20 && $0 != 0x7f) || $0 == 0x09 }
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default:
            "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}

extension HeaderField {
    /// True when name and value are what HTTP lets a field be; a transfer refuses any other (RFC 9110, 5.1 and 5.5).
    package var isSendable: Bool { HeaderList.isValid(self) }
}
