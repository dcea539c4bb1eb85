internal import Core
internal import Platform

/// Limits of a stored record: the same that apply to a host or a server.
///
/// Another version or a person may have written more. If the path, URL or name of a record breaks a limit, the download
/// fails; all other values are corrected.
extension DownloadRecord {
    /// Milliseconds since 1970 that fit the wire format: up to the year 9999.
    static let times: ClosedRange<Int64> = 0...253_402_300_799_999

    mutating func keepWithinLimits() {
        keepNumbersWithinLimits()
        keepRangesWithinLimits()
        keepTextsWithinLimits()
        if !isRequestWithinLimits { forget(.request) }
    }

    private mutating func keepNumbersWithinLimits() {
        let counts = 0...Limits.fileByteCount
        priority = Limits.priority.clamping(priority)
        attempt = (1...Limits.fileByteCount).clamping(attempt)
        failureCount = counts.clamping(failureCount)
        transferredByteCount = counts.clamping(transferredByteCount)
        wastedByteCount = counts.clamping(wastedByteCount)
        if let offset = transfer?.offset { transfer?.offset = counts.clamping(offset) }
        createdAtMilliseconds = Self.times.clamping(createdAtMilliseconds)
        updatedAtMilliseconds = Self.times.clamping(updatedAtMilliseconds)
        completedAtMilliseconds = completedAtMilliseconds.map { Self.times.clamping($0) }
        retryAtMilliseconds = retryAtMilliseconds.map { Self.times.clamping($0) }
        if let byteCount = finished?.byteCount, !counts.contains(byteCount) { finished = nil }
    }

    /// Ranges beyond the length of the file are discarded, because downloading again is always correct.
    mutating func keepRangesWithinLimits() {
        let counts = 0...Limits.fileByteCount
        if let total = entity?.totalByteCount, !counts.contains(total) {
            entity = nil
            forgetRanges()
        }
        let total = entity?.totalByteCount ?? Limits.fileByteCount
        let ends = [durable, written?.written ?? ByteRangeSet()].compactMap { $0.ranges.last?.upperBound }
        if ends.contains(where: { $0 > total }) { forgetRanges() }
    }

    private mutating func keepTextsWithinLimits() {
        if var known = entity {
            known.etag = known.etag.flatMap(field)
            known.lastModified = known.lastModified.flatMap(field)
            known.date = known.date.flatMap(field)
            known.contentType = known.contentType.flatMap(field)
            known.contentEncoding = known.contentEncoding.flatMap(field)
            entity = known
        }
        contentType = contentType.flatMap(field)
        finalURL = finalURL.flatMap { kept($0, 4 * Limits.urlByteCount) }
        suggestedFileName = suggestedFileName.flatMap { kept($0, Limits.fileNameByteCount) }
        if let text = metadataText, text.utf8.count > Limits.metadataByteCount { metadataText = nil }
        if let message = failure?.message, message.utf8.count > Limits.pathByteCount * 2 {
            failure?.message = String(decoding: message.utf8.prefix(Limits.pathByteCount), as: UTF8.self)
        }
        if keptPaths.count > Limits.keptPartialCount { keptPaths = Array(keptPaths.prefix(Limits.keptPartialCount)) }
        keptPaths.removeAll { $0.utf8.count > Limits.pathByteCount }
    }

    private func field(_ text: String) -> String? { kept(text, Limits.entityFieldByteCount) }

    private func kept(_ text: String, _ limit: Int) -> String? {
        text.utf8.count <= limit && HTTPGrammar.isFieldValue(text) ? text : nil
    }

    private var isRequestWithinLimits: Bool {
        let paths = [requestedPath, requestedDirectory, path, partialPath]
        // A numbered name may be a little longer than the requested one.
        return url.utf8.count <= Limits.urlByteCount
            && paths.allSatisfy { ($0?.utf8.count ?? 0) <= Limits.pathByteCount + Limits.fileNameByteCount }
            && headersText.utf8.count <= Limits.requestHeadersByteCount + Limits.urlByteCount
            && optionsText.utf8.count <= 2 * Limits.entityFieldByteCount
    }
}
