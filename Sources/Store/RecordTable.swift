internal import Core

/// The rows of the database: one method per statement, without rules.  Isolation: the store thread.
final class RecordTable {
    private final class Prepared {
        let statement: Statement
        init(_ statement: consuming Statement) { self.statement = statement }
    }

    private let database: Database
    /// For rows with a value that is too large, by query and part.
    private var preparedParts: [Int: Prepared] = [:]
    private var prepared = [Prepared?](repeating: nil, count: RecordQuery.allCases.count)
    /// A damaged record was read.
    var hasMetDamage = false

    init(_ database: consuming Database) {
        self.database = database
    }

    var isInTransaction: Bool { database.isInTransaction() }

    /// True once results of SQLite cannot be trusted.
    var hasLostIndex: Bool { database.hasLostIndex() }
    var indexByteCount: Int64 { database.indexByteCount() }
    var logByteCount: Int64 { database.logByteCount() }

    /// Lets the connection be closed without reading the log.
    func leaveLog() { database.leaveLog() }

    func run(_ sql: String) throws(StoreError) { try database.run(sql) }

    // MARK: Rows

    func find(id: String) throws(StoreError) -> DownloadRecord? {
        try first(.byID) { statement throws(StoreError) in try statement.bind(1, id) }
    }

    func find(sequence: Int64) throws(StoreError) -> DownloadRecord? {
        try first(.bySequence) { statement throws(StoreError) in try statement.bind(1, sequence) }
    }

    /// A download that is not final, with this URL and requested destination.
    func find(destinationKey: String, url: String) throws(StoreError) -> DownloadRecord? {
        try first(.byRequest) { statement throws(StoreError) in
            try statement.bind(1, destinationKey)
            try statement.bind(2, url)
        }
    }

    /// The download that is not final and has this destination.
    func find(holding path: String) throws(StoreError) -> DownloadRecord? {
        try first(.byPath) { statement throws(StoreError) in try statement.bind(1, path) }
    }

    /// The latest completed download of the URL to that path whose finished file is known.
    func findFinished(path: String, url: String) throws(StoreError) -> DownloadRecord? {
        try first(.finishedByPath) { statement throws(StoreError) in
            try statement.bind(1, path)
            try statement.bind(2, url)
        }
    }

    func insert(_ record: DownloadRecord, owner: Int64, revision: Int64) throws(StoreError) {
        _ = try change(.insert) { statement throws(StoreError) in
            try statement.bind(record, owner: owner, sequence: revision, revision: revision)
        }
    }

    /// False if the row does not exist or does not belong to the expected owner.
    func update(
        _ record: DownloadRecord,
        owner: Int64,
        expectedOwner: Int64,
        revision: Int64
    ) throws(StoreError) -> Bool {
        try change(.update) { statement throws(StoreError) in
            try statement.bind(record, owner: owner, sequence: record.sequence, revision: revision)
            try statement.bind(RecordQuery.expectedOwner, expectedOwner)
        }
    }

    func update(_ save: ProgressSave, expectedOwner: Int64) throws(StoreError) -> Bool {
        try change(.updateProgress) { statement throws(StoreError) in
            try statement.bind(1, save.id)
            try statement.bind(2, expectedOwner)
            try statement.bind(3, save.attempt)
            try statement.bind(4, rangesText(save.durable))
            try statement.bind(5, save.transferredByteCount)
            try statement.bind(6, save.wastedByteCount)
        }
    }

    func updatePath(id: String, _ path: String, expectedOwner: Int64, revision: Int64) throws(StoreError) -> Bool {
        try change(.updatePath) { statement throws(StoreError) in
            try statement.bind(1, id)
            try statement.bind(2, expectedOwner)
            try statement.bind(3, path)
            try statement.bind(4, revision)
        }
    }

    /// Changes the owner, if it is still the one that was read, and stores the state and marks as shown now.
    func takeOver(
        _ record: DownloadRecord,
        from oldOwner: Int64,
        to newOwner: Int64,
        revision: Int64
    ) throws(StoreError) -> Bool {
        do throws(StoreError) {
            return try change(.takeOver) { statement throws(StoreError) in
                try statement.bind(1, record.id)
                try statement.bind(2, oldOwner)
                try statement.bind(3, newOwner)
                try statement.bind(4, record.state.rawValue)
                try statement.bind(5, record.reason?.rawValue)
                try statement.bind(6, record.written.map { ProgressSlot.encode($0) })
                try statement.bind(7, revision)
            }
        } catch {
            // A value that is too large can only be replaced by updating the whole row.
            guard error.isTooBig else { throw error }
            return try update(record, owner: newOwner, expectedOwner: oldOwner, revision: revision)
        }
    }

    func release(id: String, expectedOwner: Int64, revision: Int64) throws(StoreError) -> Bool {
        try change(.release) { statement throws(StoreError) in
            try statement.bind(1, id)
            try statement.bind(2, expectedOwner)
            try statement.bind(3, revision)
        }
    }

    func delete(id: String) throws(StoreError) {
        _ = try change(.delete) { statement throws(StoreError) in try statement.bind(1, id) }
    }

    // MARK: After damage

    /// The first row after a sequence, as stored, with its damage.
    func next(
        after sequence: Int64
    ) throws(StoreError) -> (record: DownloadRecord, sequence: Int64, damage: RecordCheck?)? {
        var found: (record: DownloadRecord, sequence: Int64, damage: RecordCheck?)?
        try readableRow(.next) { statement throws(StoreError) in
            try statement.bind(1, sequence)
        } each: { statement in
            let record = statement.record()
            found = (record, record.sequence, statement.damage())
            return false
        }
        return found
    }

    func lastRevision() throws(StoreError) -> Int64? {
        try integers(.lastRevision) { _ throws(StoreError) in }.first
    }

    /// Discards received bytes and owners of all downloads that are not final; returns the last revision used.
    func forgetRanges(after revision: Int64) throws(StoreError) -> Int64 {
        var revision = revision
        var position: Int64 = 0
        try run("BEGIN IMMEDIATE")
        while let found = try next(after: position) {
            guard found.sequence > position else { throw .damaged("the records are out of order") }
            position = found.sequence
            var record = found.record
            if record.state.isFinal { continue }
            let owner = record.owner ?? 0
            record.forgetRanges()
            record.entity = nil
            record.disown()
            revision += 1
            _ = try update(record, owner: 0, expectedOwner: owner, revision: revision)
        }
        try setMeta("revision", revision)
        try setMeta("tombstoneFloor", revision)
        try run("COMMIT")
        return revision
    }

    // MARK: Handover

    func insertYielding(_ session: Int64) throws(StoreError) {
        _ = try change(.insertYielding) { statement throws(StoreError) in try statement.bind(1, session) }
    }

    func isYielding(_ session: Int64) throws(StoreError) -> Bool {
        try !integers(.isYielding) { statement throws(StoreError) in try statement.bind(1, session) }.isEmpty
    }

    func trimYielding(_ session: Int64) throws(StoreError) {
        _ = try change(.trimYielding) { statement throws(StoreError) in try statement.bind(1, session) }
    }

    func insertHandover(id: String) throws(StoreError) {
        _ = try change(.insertHandover) { statement throws(StoreError) in try statement.bind(1, id) }
    }

    func deleteHandover(id: String) throws(StoreError) {
        _ = try change(.deleteHandover) { statement throws(StoreError) in try statement.bind(1, id) }
    }

    /// Downloads of an owner that another process asks for.
    func handovers(owner: Int64) throws(StoreError) -> [String] {
        var ids: [String] = []
        try rows(.handovers) { statement throws(StoreError) in
            try statement.bind(1, owner)
        } each: { statement in
            ids.append(statement.text(0))
            return true
        }
        return ids
    }

    // MARK: Tombstones and counters

    func insertTombstone(_ tombstone: Tombstone) throws(StoreError) {
        _ = try change(.insertTombstone) { statement throws(StoreError) in
            try statement.bind(1, tombstone.revision)
            try statement.bind(2, tombstone.id)
        }
    }

    func deleteTombstone(id: String) throws(StoreError) {
        _ = try change(.deleteTombstone) { statement throws(StoreError) in try statement.bind(1, id) }
    }

    /// Keeps the newest tombstones; returns the revision of the newest deleted one, or nil if none was deleted.
    func trimTombstones(keeping count: Int) throws(StoreError) -> Int64? {
        let revisions = try integers(.lastTombstoneToTrim) { statement throws(StoreError) in
            try statement.bind(1, Int64(count))
        }
        guard let revision = revisions.first else { return nil }
        _ = try change(.trimTombstones) { statement throws(StoreError) in try statement.bind(1, revision) }
        return revision
    }

    func tombstones(after revision: Int64, limit: Int) throws(StoreError) -> [Tombstone] {
        var result: [Tombstone] = []
        try rows(.tombstonesAfter) { statement throws(StoreError) in
            try statement.bind(1, revision)
            try statement.bind(2, Int64(limit))
        } each: { statement in
            result.append(Tombstone(id: statement.text(1), revision: statement.integer(0)))
            return true
        }
        return result
    }

    func meta(_ key: String) throws(StoreError) -> Int64 {
        try integers(.meta) { statement throws(StoreError) in try statement.bind(1, key) }.first ?? 0
    }

    func setMeta(_ key: String, _ value: Int64) throws(StoreError) {
        _ = try change(.setMeta) { statement throws(StoreError) in
            try statement.bind(1, key)
            try statement.bind(2, value)
        }
    }

    // MARK: Searching

    /// The owners of rows stored with this state; 0 stands for no owner.
    func owners(_ state: DownloadState) throws(StoreError) -> [Int64] {
        var owners: [Int64] = []
        while true {
            let last = owners.last ?? .min
            var next: Int64?
            try rows(.nextOwner) { statement throws(StoreError) in
                try statement.bind(1, state.rawValue)
                try statement.bind(2, last)
            } each: { statement in
                next = statement.optionalInteger(0)
                return false
            }
            guard let next else { return owners }
            guard next > last else { throw .damaged("the index of owners is out of order") }
            owners.append(next)
        }
    }

    /// The first rows after a sequence that are stored with this state, owner and, unless nil, reason.
    func sequences(
        _ state: DownloadState,
        owner: Int64,
        reason: StateReason? = nil,
        after sequence: Int64,
        limit: Int
    ) throws(StoreError) -> [Int64] {
        let query: RecordQuery = reason == nil ? .sequencesByOwner : .sequencesByOwnerAndReason
        return try integers(query) { statement throws(StoreError) in
            try statement.bind(1, state.rawValue)
            try statement.bind(2, owner)
            try statement.bind(3, sequence)
            try statement.bind(4, Int64(limit))
            if let reason { try statement.bind(5, reason.rawValue) }
        }
    }

    func sequences(after sequence: Int64, limit: Int) throws(StoreError) -> [Int64] {
        try integers(.sequencesAfter) { statement throws(StoreError) in
            try statement.bind(1, sequence)
            try statement.bind(2, Int64(limit))
        }
    }

    func sequence(id: String) throws(StoreError) -> Int64? {
        try integers(.sequenceOfID) { statement throws(StoreError) in try statement.bind(1, id) }.first
    }

    /// A changed row, with the columns that a filter needs.
    struct Change {
        let revision: Int64
        let sequence: Int64
        let state: DownloadState
        let owner: Int64
        let id: String
    }

    /// The first changes after a revision that pass the filter.
    func changes(
        after revision: Int64,
        limit: Int,
        where passes: (Change) -> Bool
    ) throws(StoreError) -> [Change] {
        var result: [Change] = []
        try rows(.changesAfter) { statement throws(StoreError) in
            try statement.bind(1, revision)
        } each: { statement in
            let change = Change(
                revision: statement.integer(0),
                sequence: statement.integer(1),
                state: DownloadState(rawValue: statement.text(2)) ?? .failed,
                owner: statement.integer(3),
                id: statement.text(4)
            )
            if passes(change) { result.append(change) }
            return result.count < limit
        }
        return result
    }

    /// Number of rows for each stored state and owner.
    func counts() throws(StoreError) -> [(state: DownloadState, owner: Int64, count: Int)] {
        var result: [(state: DownloadState, owner: Int64, count: Int)] = []
        try rows(.counts) { _ throws(StoreError) in
        } each: { statement in
            let state = DownloadState(rawValue: statement.text(0)) ?? .failed
            result.append((state, statement.integer(1), Int(clamping: statement.integer(2))))
            return true
        }
        return result
    }

    // MARK: Running statements

    private typealias Binding = (borrowing Statement) throws(StoreError) -> Void

    private func first(_ query: RecordQuery, _ bind: Binding) throws(StoreError) -> DownloadRecord? {
        var record: DownloadRecord?
        var damage: RecordCheck?
        do throws(StoreError) {
            try readableRow(query, bind) { statement in
                record = statement.record()
                damage = statement.damage()
                return false
            }
        } catch {
            // The row cannot be identified: continue with the others.
            guard error.isTooBig else { throw error }
            hasMetDamage = true
        }
        if let damage {
            hasMetDamage = true
            record?.forget(damage)
        }
        return record
    }

    private func integers(_ query: RecordQuery, _ bind: Binding) throws(StoreError) -> [Int64] {
        var result: [Int64] = []
        try rows(query, bind) { statement in
            result.append(statement.integer(0))
            return true
        }
        return result
    }

    /// Reads one row, or as much of it as possible if a value is too large.
    private func readableRow(
        _ query: RecordQuery,
        _ bind: Binding,
        each: (borrowing Statement) -> Bool
    ) throws(StoreError) {
        var failure: StoreError
        do throws(StoreError) {
            return try rows(query, bind, each: each)
        } catch {
            failure = error
        }
        for part in RecordPart.allCases where failure.isTooBig {
            do throws(StoreError) {
                return try rows(prepare(query, part), bind, each: each)
            } catch {
                failure = error
            }
        }
        throw failure
    }

    private func rows(
        _ query: RecordQuery,
        _ bind: Binding,
        each: (borrowing Statement) -> Bool
    ) throws(StoreError) {
        try rows(prepare(query), bind, each: each)
    }

    private func rows(
        _ prepared: Prepared,
        _ bind: Binding,
        each: (borrowing Statement) -> Bool
    ) throws(StoreError) {
        defer { prepared.statement.reset() }
        try bind(prepared.statement)
        while try prepared.statement.step(), each(prepared.statement) {}
    }

    /// True if the statement changed a row.
    private func change(_ query: RecordQuery, _ bind: Binding) throws(StoreError) -> Bool {
        let prepared = try prepare(query)
        try bind(prepared.statement)
        try prepared.statement.run()
        return database.changedRowCount() > 0
    }

    private func prepare(_ query: RecordQuery) throws(StoreError) -> Prepared {
        if let prepared = prepared[query.rawValue] { return prepared }
        let new = Prepared(try database.prepare(query.sql))
        prepared[query.rawValue] = new
        return new
    }

    private func prepare(_ query: RecordQuery, _ part: RecordPart) throws(StoreError) -> Prepared {
        let key = query.rawValue * RecordPart.allCases.count + part.rawValue
        if let prepared = preparedParts[key] { return prepared }
        let new = Prepared(try database.prepare(query.sql(reading: part) ?? query.sql))
        preparedParts[key] = new
        return new
    }
}
