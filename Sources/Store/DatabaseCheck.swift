/// Looks for damage that SQLite would find only when it reads the damaged place.
enum DatabaseCheck {
    /// Up to this size a check of the whole database takes a few milliseconds.
    static let smallByteCount: Int64 = 4 << 20

    static func isSmall(_ database: borrowing Database) throws(StoreError) -> Bool {
        try database.integer("PRAGMA page_count") * database.integer("PRAGMA page_size") <= smallByteCount
    }

    /// Checks that every statement can run, and that the counters are not lower than the rows require.
    static func checkFrame(_ database: borrowing Database) throws(StoreError) {
        for query in RecordQuery.allCases { _ = try database.prepare(query.sql) }
        for table in ["download", "removed"] { _ = try database.integer("SELECT 1 FROM \(table) LIMIT 1") }
        let keys = try database.integer("SELECT count(*) FROM meta WHERE key IN ('revision', 'tombstoneFloor')")
        let revision = try database.integer("SELECT value FROM meta WHERE key='revision'")
        let lastRevision = try database.integer("SELECT max(revision) FROM download")
        let lastSequence = try database.integer("SELECT max(sequence) FROM download")
        guard keys == 2, revision >= max(lastRevision, lastSequence), revision <= StoreLimits.maxRevision else {
            throw StoreError.damaged("its counters are wrong")
        }
    }

    /// Checks the pages, the indexes and every record.
    static func checkAll(_ database: borrowing Database) throws(StoreError) {
        let verdict = try database.text("PRAGMA integrity_check(1)")
        if verdict != "ok" { throw StoreError.damaged(verdict) }
        let intact = RecordCheck.allCases.map { "(\($0.isIntact))" }.joined(separator: " AND ")
        let count = try database.integer("SELECT count(*) FROM download WHERE NOT (\(intact))")
        if count > 0 { throw StoreError.damaged("\(count) of its records are damaged") }
    }
}

enum StoreLimits {
    /// Revisions are sent as JSON numbers; the maximum leaves enough numbers to continue from any revision that was
    /// read.
    static let maxRevision: Int64 = 1 << 52
}
