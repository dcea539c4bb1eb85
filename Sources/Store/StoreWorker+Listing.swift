internal import Core

/// Pages and counts.
extension StoreWorker {
    func list(_ query: ListQuery) throws(StoreError) -> StoreOutcome {
        var cursor: ListCursor?
        if let text = query.cursor {
            guard let parsed = ListCursor(text) else { return .invalidCursor }
            guard parsed.fingerprint == query.fingerprint else { return .cursorExpired }
            cursor = parsed
        }
        // A cursor of this database never has a future revision: then it is from a database that was moved aside.
        if let cursor, max(cursor.position, cursor.revision) > revision { return .cursorExpired }
        if let since = query.changedSince { return try listChanges(query, since: since, cursor) }
        let limit = query.limit
        let found = try sequences(query, after: cursor?.position ?? 0, limit: limit + 1)
        var records: [LoadedRecord] = []
        for sequence in found.prefix(limit) {
            if let record = try table.find(sequence: sequence) { records.append(load(record)) }
        }
        let asOf = cursor?.revision ?? revision
        var next: ListCursor?
        if found.count > limit, let last = records.last {
            next = ListCursor(position: last.record.sequence, revision: asOf, fingerprint: query.fingerprint)
        }
        return .page(ListPage(records: records, removed: [], next: next, revision: asOf, query: query))
    }

    /// In order of change: a download that changes while a client pages moves to the end, so it is never missed.
    private func listChanges(_ query: ListQuery, since: Int64, _ cursor: ListCursor?) throws(StoreError) -> StoreOutcome
    {
        let position = max(since, cursor?.position ?? 0)
        guard since <= revision, try position >= table.meta("tombstoneFloor") else { return .cursorExpired }
        let limit = query.limit
        let ids = query.ids.map { Set($0) }
        let changes = try table.changes(after: position, limit: limit + 1) { change in
            (ids?.contains(change.id) ?? true)
                && (query.states?.contains(effective(change.state, owner: change.owner)) ?? true)
        }
        let tombstones = try table.tombstones(after: position, limit: limit + 1)
        // Both are in order of revision, and no two have the same: the page is the beginning of the merged list.
        let merged = (changes.map(\.revision) + tombstones.map(\.revision)).sorted()
        let end = merged.prefix(limit).last ?? position
        var records: [LoadedRecord] = []
        for change in changes where change.revision <= end {
            if let record = try table.find(sequence: change.sequence) { records.append(load(record)) }
        }
        let removed = tombstones.filter { $0.revision <= end && ids?.contains($0.id) ?? true }
        let asOf = cursor?.revision ?? revision
        let next = ListCursor(position: end, revision: asOf, fingerprint: query.fingerprint)
        let page = ListPage(
            records: records,
            removed: removed,
            next: merged.count > limit ? next : nil,
            revision: asOf,
            query: query
        )
        return .page(page)
    }

    /// The first rows after a sequence that match the query.
    private func sequences(_ query: ListQuery, after position: Int64, limit: Int) throws(StoreError) -> [Int64] {
        if let ids = query.ids {
            var found: [Int64] = []
            for id in Set(ids) {
                guard let sequence = try table.sequence(id: id), sequence > position else { continue }
                found.append(sequence)
            }
            guard let states = query.states else { return Array(found.sorted().prefix(limit)) }
            var matching: [Int64] = []
            for sequence in found.sorted() where matching.count < limit {
                guard let record = try table.find(sequence: sequence) else { continue }
                if states.contains(effective(record.state, owner: record.owner ?? 0)) { matching.append(sequence) }
            }
            return matching
        }
        guard let states = query.states else { return try table.sequences(after: position, limit: limit) }
        // One index range per stored state and owner, each in order; the first few rows of each are enough.
        var found: [Int64] = []
        for state in DownloadState.allCases
        where states.contains(state) || (state.isRunning && states.contains(.paused)) {
            for owner in try table.owners(state) where states.contains(effective(state, owner: owner)) {
                found += try table.sequences(state, owner: owner, after: position, limit: limit)
            }
        }
        return Array(found.sorted().prefix(limit))
    }

    func counts() throws(StoreError) -> StoreCounts {
        var counts = StoreCounts()
        for row in try table.counts() {
            counts.byState[effective(row.state, owner: row.owner), default: 0] += row.count
        }
        return counts
    }
}
