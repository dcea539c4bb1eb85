extension Entity {
    /// A `Last-Modified` at least this much older than `Date` cannot be shared by two versions (RFC 7232, 2.2.2).
    static let strongLastModifiedAgeSeconds: Int64 = 60

    /// The entity that a response head describes.
    package init(_ head: ResponseHead, totalByteCount: Int64?) {
        func field(_ name: String) -> String? {
            guard let value = head.value(name), !value.isEmpty else { return nil }
            return value.utf8.count <= Limits.entityFieldByteCount ? value : nil
        }
        let codings = ContentCoding.inForce(head)
        var isOld = false
        if let date = head.dateSeconds, let lastModified = head.lastModifiedSeconds {
            let (age, overflowed) = date.subtractingReportingOverflow(lastModified)
            isOld = !overflowed && age >= Self.strongLastModifiedAgeSeconds
        }
        self.init(
            totalByteCount: totalByteCount,
            etag: field("ETag"),
            lastModified: field("Last-Modified"),
            date: field("Date"),
            contentType: field("Content-Type"),
            contentEncoding: codings.isEmpty ? nil : codings.joined(separator: ", "),
            isLastModifiedStrong: isOld,
            isHTTP11: head.httpVersion >= 11,
            refusesRanges: HTTPGrammar.tokenList(head.values("Accept-Ranges")).contains("none")
        )
    }

    /// Whether bytes of both entities may be in one file.
    package enum Likeness: Equatable, Sendable {
        /// A strong validator is equal, and nothing else differs.
        case same
        /// Nothing differs, and nothing proves them the same.
        case unproven
        /// Two versions, and what differs.
        case different(TransferOrigin.Why)
    }

    /// Compares with a later response: all fields that both have must be equal, byte for byte.
    package func likeness(to other: Entity) -> Likeness {
        // `==` would treat two Unicode spellings of one character as equal.
        if let etag, let theirs = other.etag, !etag.utf8.elementsEqual(theirs.utf8) {
            return .different(.validatorChanged)
        }
        if let lastModified, let theirs = other.lastModified, !lastModified.utf8.elementsEqual(theirs.utf8) {
            return .different(.validatorChanged)
        }
        if let totalByteCount, let theirs = other.totalByteCount, totalByteCount != theirs {
            return .different(.totalChanged)
        }
        if etag != nil, other.etag != nil {
            // A weak ETag may cover several contents; then the date proves nothing either (RFC 9110, 13.1.5).
            return strongValidator != nil && other.strongValidator != nil ? .same : .unproven
        }
        // `Date` of the later response is later too, so only the age at the time of the first response counts.
        if lastModified != nil, other.lastModified != nil, isLastModifiedStrong { return .same }
        return .unproven
    }

    /// True when the content type is that of a web page.
    var isWebPage: Bool {
        guard let contentType else { return false }
        let type = HTTPGrammar.mediaType(contentType)
        return type == "text/html" || type == "application/xhtml+xml"
    }
}
