internal import CCurl
package import Core

/// The header fields of one request as a libcurl list.  C: curl_slist_append(3)
///
/// libcurl does not copy the list: it must outlive the easy handle that uses it.
@safe struct HeaderList: ~Copyable {
    // Safety: only `append` extends it; freed once, in deinit, after the handle that uses it is cleaned up.
    private(set) var raw: UnsafeMutablePointer<curl_slist>?

    init() {
        unsafe raw = nil
    }

    deinit { unsafe curl_slist_free_all(raw) }

    /// Adds one field; throws when the name is not a token or the value has a control character (RFC 9110, 5.1 and
    /// 5.5).
    mutating func append(_ field: HeaderField) throws(CurlError) {
        guard HeaderList.isValid(field) else {
            let detail = "a header field's name or value has characters that HTTP does not allow"
            throw CurlError(code: Int(CURLE_BAD_FUNCTION_ARGUMENT.rawValue), operation: "slist_append", detail: detail)
        }
        // `Name;` makes libcurl send a field without a value; `Name:` would remove it.
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
    /// True when HTTP allows the name and the value; a transfer refuses any other field (RFC 9110, 5.1 and 5.5).
    package var isSendable: Bool { HeaderList.isValid(self) }
}
