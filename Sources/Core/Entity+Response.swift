extension Entity {
    /// A `Last-Modified` this much older than its `Date` can no longer stand for two versions (RFC 7232 asked for it).
    static let strongLastModifiedAgeSeconds: Int64 = 60

    /// What a response head says of the entity.
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

    /// Whether bytes of both may stand in one file.
    package enum Likeness: Equatable, Sendable {
        /// A strong validator is the same, and nothing speaks against it.
        case same
        /// Nothing tells them apart, and nothing proves them the same.
        case unproven
        /// Two versions, and what told.
        case different(TransferOrigin.Why)
    }

    /// Compares with what a later response says: all that both know must be equal, byte for byte.
    package func likeness(to other: Entity) -> Likeness {
        // Not `==`, which takes two spellings of one character for the same.
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
            // A weak ETag may cover several contents; then a date is not to be believed either (RFC 9110, 13.1.5).
            return strongValidator != nil && other.strongValidator != nil ? .same : .unproven
        }
        // The later answer's `Date` is later too: what counts is that the date was old when the bytes were read.
        if lastModified != nil, other.lastModified != nil, isLastModifiedStrong { return .same }
        return .unproven
    }

    /// True for a web page by its content type.
    var isWebPage: Bool {
        guard let contentType else { return false }
        let type = HTTPGrammar.mediaType(contentType)
        return type == "text/html" || type == "application/xhtml+xml"
    }
}
