/// What is known of the file at a URL, to tell one version from another (RFC 9110, 8.8).
///
/// Field values are kept exactly as received: validators are compared and sent back byte for byte.
package struct Entity: Equatable, Sendable {
    /// The whole length in bytes; nil while unknown.
    package var totalByteCount: Int64?
    package var etag: String?
    package var lastModified: String?
    /// The `Date` of the response with `lastModified`.
    package var date: String?
    package var contentType: String?
    package var contentEncoding: String?
    /// True when `lastModified` may serve as a strong validator: it is at least 60 s older than `date`.
    package var isLastModifiedStrong: Bool
    /// False for a response older than HTTP/1.1: its ETag proves nothing.
    package var isHTTP11: Bool
    /// The server sent `Accept-Ranges: none`.
    package var refusesRanges: Bool

    package init(
        totalByteCount: Int64? = nil,
        etag: String? = nil,
        lastModified: String? = nil,
        date: String? = nil,
        contentType: String? = nil,
        contentEncoding: String? = nil,
        isLastModifiedStrong: Bool = false,
        isHTTP11: Bool = true,
        refusesRanges: Bool = false
    ) {
        self.totalByteCount = totalByteCount
        self.etag = etag
        self.lastModified = lastModified
        self.date = date
        self.contentType = contentType
        self.contentEncoding = contentEncoding
        self.isLastModifiedStrong = isLastModifiedStrong
        self.isHTTP11 = isHTTP11
        self.refusesRanges = refusesRanges
    }

    /// The value for `If-Range`: a strong ETag, else a strong Last-Modified, else nil (RFC 9110, 13.1.5).
    package var strongValidator: String? {
        if let etag {
            return isHTTP11 && EntityTag.isStrong(etag) ? etag : nil
        }
        return isLastModifiedStrong ? lastModified : nil
    }
}

/// Rules for ETag field values.
package enum EntityTag {
    /// True for a well-formed tag that is not weak (RFC 9110, 8.8.3).
    package static func isStrong(_ value: String) -> Bool {
        let bytes = value.utf8
        let quote = UInt8(ascii: "\"")
        guard bytes.count >= 2, bytes.first == quote, bytes.last == quote else { return false }
        return bytes.dropFirst().dropLast().allSatisfy { $0 == 0x21 || ($0 >= 0x23 && $0 != 0x7f) }
    }
}
