package import Core

/// Which downloads to list.
package struct ListQuery: Equatable, Sendable {
    package static let maxLimit = 500

    /// States as shown, not as stored; nil for all.
    package var states: Set<DownloadState>?
    package var ids: [String]?
    /// Only changes after this revision, removals included.
    package var changedSince: Int64?
    /// Maximum number of downloads and removals in a page, 1 to `maxLimit`.
    package var limit: Int
    /// Where the previous page ended.
    package var cursor: String?

    package init(
        states: Set<DownloadState>? = nil,
        ids: [String]? = nil,
        changedSince: Int64? = nil,
        limit: Int = 50,
        cursor: String? = nil
    ) {
        self.states = states
        self.ids = ids
        self.changedSince = changedSince
        self.limit = min(max(limit, 1), Self.maxLimit)
        self.cursor = cursor
    }

    /// Distinguishes cursors of this query from those of other queries.
    var fingerprint: UInt64 {
        var text = "\(changedSince.map { String($0) } ?? "-");"
        for state in DownloadState.allCases where states?.contains(state) == true { text += state.rawValue + "," }
        text += states == nil ? "*;" : ";"
        for id in ids ?? ["*"] { text += id + "," }
        return text.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
}

/// A removed download.
package struct Tombstone: Equatable, Sendable {
    package let id: String
    package let revision: Int64

    package init(id: String, revision: Int64) {
        self.id = id
        self.revision = revision
    }
}

/// A page of the result: in order of creation, or with `changedSince` in order of change.
package struct ListPage: Equatable, Sendable {
    package private(set) var records: [LoadedRecord]
    /// With `changedSince`: the removed downloads, in order of removal.
    package private(set) var removed: [Tombstone]
    /// Nil on the last page.
    package private(set) var nextCursor: String?
    /// The next `changedSince`: the revision when the first page was read, so that nothing is missed.
    package let revision: Int64
    private let fingerprint: UInt64
    private let isByRevision: Bool

    init(
        records: [LoadedRecord],
        removed: [Tombstone],
        next: ListCursor?,
        revision: Int64,
        query: ListQuery
    ) {
        self.records = records
        self.removed = removed
        self.nextCursor = next?.text
        self.revision = revision
        fingerprint = query.fingerprint
        isByRevision = query.changedSince != nil
    }

    /// The first downloads of the page, with a cursor for the rest: for replies with a limited size.
    ///
    /// With `changedSince`, removals after the cut are left out too.
    package func prefix(_ recordCount: Int) -> ListPage {
        guard recordCount < records.count, recordCount >= 0 else { return self }
        let end = end(after: recordCount)
        var page = self
        page.records = Array(records.prefix(recordCount))
        page.removed = end.removed
        page.nextCursor = end.nextCursor
        return page
    }

    /// The cursor and removals of `prefix`, without making the page: cheaper when it is needed for each download.
    package func end(after recordCount: Int) -> (nextCursor: String?, removed: [Tombstone]) {
        guard recordCount < records.count, recordCount >= 0 else { return (nextCursor, removed) }
        let cut = position(records[recordCount])
        return (
            ListCursor(position: cut - 1, revision: revision, fingerprint: fingerprint).text,
            isByRevision ? removed.filter { $0.revision < cut } : removed
        )
    }

    private func position(_ loaded: LoadedRecord) -> Int64 {
        isByRevision ? loaded.record.revision : loaded.record.sequence
    }
}

/// Where a page ended; opaque to clients.
struct ListCursor: Equatable {
    /// The last sequence, or the last revision, in the page.
    let position: Int64
    /// The revision when the first page was read.
    let revision: Int64
    let fingerprint: UInt64

    init(position: Int64, revision: Int64, fingerprint: UInt64) {
        self.position = position
        self.revision = revision
        self.fingerprint = fingerprint
    }

    var text: String {
        [String(position, radix: 36), String(revision, radix: 36), String(fingerprint, radix: 36)]
            .joined(separator: ".")
    }

    /// Nil if the text is not a cursor; a cursor of another query is accepted here.
    init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard text.utf8.count <= 64, parts.count == 3,
            let position = Int64(parts[0], radix: 36), position >= 0,
            let revision = Int64(parts[1], radix: 36), revision >= 0,
            let fingerprint = UInt64(parts[2], radix: 36)
        else { return nil }
        self.init(position: position, revision: revision, fingerprint: fingerprint)
    }
}
