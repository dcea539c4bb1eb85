/// A file at the destination; `ifExists: skip` checks whether it is the one to be downloaded.
package struct ExistingFile: Equatable, Sendable {
    package var byteCount: Int64
    /// When its bytes last changed, in seconds since 1970.
    package var modifiedSeconds: Int64
    /// The entity in the record of its download; nil when there is no record, or when the file has changed since.
    package var entity: Entity?
    /// The server answered that the file has not changed, without its length: the next request asks for the length
    /// only.
    package var isAskedForLength: Bool

    package init(byteCount: Int64, modifiedSeconds: Int64, entity: Entity? = nil, isAskedForLength: Bool = false) {
        self.byteCount = byteCount
        self.modifiedSeconds = modifiedSeconds
        self.entity = entity
        self.isAskedForLength = isAskedForLength
    }

    /// What a response says about the file.
    package enum Verdict: Equatable, Sendable {
        /// The file is the one to be downloaded; nothing has to be fetched.
        case unchanged(TransferOrigin.Why)
        /// The file may be the one: ask for the length, without conditions.
        case askForLength
        /// The file is another one; the response body is the file to download.
        case different
        /// The response says nothing about the file.
        case none
    }

    /// The conditional request fields (RFC 9110, 13.1): the record's validators, else the file's modification time.
    package var conditions: [HeaderField] {
        if isAskedForLength { return [] }
        var fields: [HeaderField] = []
        if let etag = entity?.etag { fields.append(HeaderField("If-None-Match", etag)) }
        if let date = entity?.lastModified ?? HTTPDateText.text(seconds: modifiedSeconds) {
            fields.append(HeaderField("If-Modified-Since", date))
        }
        return fields
    }

    /// Judges the head of a response to a request with `conditions`.
    ///
    /// - Parameter evidence: helps to tell a compressed file from a compressed response.
    package func verdict(_ head: ResponseHead, evidence: ContentCoding.Evidence = ContentCoding.Evidence()) -> Verdict {
        switch head.status {
        case 304: notModified(head)
        case 200, 203: whole(head, evidence)
        default: .none
        }
    }

    /// A 304 to a validator of the record is proof. A 304 to a time is not: the file may have been cut short.
    private func notModified(_ head: ResponseHead) -> Verdict {
        let length = try? ContentLength.parse(head.values("Content-Length"))
        let isOfThisLength = length == byteCount && byteCount > 0
        // A 304 to an unconditional request says nothing, unless it has the right length.
        if isAskedForLength { return isOfThisLength && !isContradicted(by: head) ? .unchanged(.notModified) : .none }
        guard hasValidator else { return isOfThisLength ? .unchanged(.notModified) : .askForLength }
        // Servers that count the missing body of a 304 send 0.
        let isOfAnother = length != nil && length != 0 && !isOfThisLength
        return isOfAnother || isContradicted(by: head) ? .askForLength : .unchanged(.notModified)
    }

    /// True when a record has a validator of this file.
    private var hasValidator: Bool { entity?.etag != nil || entity?.lastModified != nil }

    /// True when the 304 names another version than the record: a mistake of a server or a cache.
    private func isContradicted(by head: ResponseHead) -> Bool {
        if let known = entity?.etag, let etag = head.value("ETag") { return !EntityTag.isWeaklyEqual(known, etag) }
        guard let known = entity?.lastModified, let date = head.value("Last-Modified") else { return false }
        return !known.utf8.elementsEqual(date.utf8)
    }

    private func whole(_ head: ResponseHead, _ evidence: ContentCoding.Evidence) -> Verdict {
        // The length of a compressed response is not the file's.
        guard ContentCoding.compression(head, evidence: evidence) == nil,
            let length = (try? BodyFraming(head))?.byteCount, length == byteCount
        else { return .different }
        if isAskedForLength, !hasValidator {
            // A time later than that of the conditional request belongs to another version.
            return head.lastModifiedSeconds ?? .min > modifiedSeconds ? .different : .unchanged(.notModified)
        }
        if let entity {
            switch entity.likeness(to: Entity(head, totalByteCount: length)) {
            case .same: return .unchanged(.record)
            case .different: return .different
            case .unproven: break
            }
            let other = Entity(head, totalByteCount: length)
            if hasValidator, entity.etag == other.etag,
                entity.lastModified == other.lastModified
            {
                return .unchanged(.record)
            }
        }
        return head.lastModifiedSeconds == modifiedSeconds ? .unchanged(.sameLengthAndTime) : .different
    }
}

extension EntityTag {
    /// The weak comparison (RFC 9110, 8.8.3.2).
    static func isWeaklyEqual(_ first: String, _ second: String) -> Bool {
        opaque(first).elementsEqual(opaque(second))
    }

    private static func opaque(_ tag: String) -> Substring.UTF8View {
        tag.hasPrefix("W/") ? tag.dropFirst(2).utf8 : tag[...].utf8
    }
}

/// Dates in request headers.
package enum HTTPDateText {
    private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// The IMF-fixdate for seconds since 1970; nil outside the years 1970 to 9999 (RFC 9110, 5.6.7).
    package static func text(seconds: Int64) -> String? {
        guard (0..<253_402_300_800).contains(seconds) else { return nil }
        let day = Int(seconds / 86_400)
        let second = Int(seconds % 86_400)
        // Counts days in eras of 400 years that begin on 1 March.
        let shifted = day + 719_468
        let dayOfEra = shifted % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let month = (5 * dayOfYear + 2) / 153
        let dayOfMonth = dayOfYear - (153 * month + 2) / 5 + 1
        let year = yearOfEra + shifted / 146_097 * 400 + (month >= 10 ? 1 : 0)
        let date = "\(padded(dayOfMonth, 2)) \(months[(month + 2) % 12]) \(padded(year, 4))"
        let time = "\(padded(second / 3_600, 2)):\(padded(second / 60 % 60, 2)):\(padded(second % 60, 2))"
        return "\(days[day % 7]), \(date) \(time) GMT"
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
