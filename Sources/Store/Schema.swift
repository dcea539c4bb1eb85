/// The tables, and the migration of a database of an earlier version.
///
/// The version is `PRAGMA user_version`: a word in the file's header that can be read before the tables are known.
package enum Schema {
    /// The version that this program reads and writes.
    package static let version = Int64(migrations.count)
    /// Marks the file as ours: `towl`.  See sqlite.org/pragma.html, application_id.
    package static let applicationID: Int64 = 0x746f_776c

    /// Statements that migrate from version n to n + 1; published ones never change.
    static let migrations: [String] = [first, second, third, fourth, fifth]

    /// Downloads that are not final.  Indexes and queries must contain this text unchanged to fit together.
    static let notFinal = "state NOT IN ('completed','failed','canceled')"

    // `sequence` is the revision of the insertion: it increases and is never reused.
    private static let first = """
        CREATE TABLE meta(key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
        INSERT INTO meta VALUES('revision', 0), ('tombstoneFloor', 0);
        CREATE TABLE download(
          id TEXT NOT NULL UNIQUE, url TEXT NOT NULL,
          requestedPath TEXT, requestedDirectory TEXT, requestedFileName TEXT, destinationKey TEXT NOT NULL,
          path TEXT, partialPath TEXT, partialDevice INTEGER, partialInode INTEGER,
          ifExists TEXT NOT NULL, checksum TEXT, options TEXT NOT NULL, headers TEXT NOT NULL,
          metadata TEXT, trail TEXT, priority INTEGER NOT NULL,
          state TEXT NOT NULL, reason TEXT, intent TEXT NOT NULL, owner INTEGER NOT NULL,
          entityFlags INTEGER, entityByteCount INTEGER, entityETag TEXT, entityLastModified TEXT, entityDate TEXT,
          entityType TEXT, entityEncoding TEXT,
          durable TEXT NOT NULL, written BLOB, slot INTEGER, attempt INTEGER NOT NULL, failureCount INTEGER NOT NULL,
          transferMode TEXT, transferOffset INTEGER, transferWhy TEXT, retryAt INTEGER,
          errorKind TEXT, errorMessage TEXT, errorRetryable INTEGER, errorStatus INTEGER, errorCurl INTEGER,
          errorErrno INTEGER,
          createdAt INTEGER NOT NULL, updatedAt INTEGER NOT NULL, completedAt INTEGER,
          finalURL TEXT, suggestedFileName TEXT, contentType TEXT,
          transferredByteCount INTEGER NOT NULL, wastedByteCount INTEGER NOT NULL,
          isFinalizing INTEGER NOT NULL, finishedDevice INTEGER, finishedInode INTEGER, finishedByteCount INTEGER,
          sequence INTEGER PRIMARY KEY, revision INTEGER NOT NULL);
        CREATE UNIQUE INDEX downloadRevision ON download(revision);
        CREATE INDEX downloadState ON download(state, owner, sequence);
        CREATE UNIQUE INDEX downloadPath ON download(path) WHERE path IS NOT NULL AND \(notFinal);
        CREATE INDEX downloadRequest ON download(destinationKey, url) WHERE \(notFinal);
        CREATE TABLE removed(revision INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE);
        CREATE TABLE yielding(session INTEGER PRIMARY KEY);
        CREATE TABLE handover(id TEXT PRIMARY KEY) WITHOUT ROWID;
        """

    // `keptPaths` is a JSON array of strings; NULL when empty.
    private static let second = """
        ALTER TABLE download ADD COLUMN transferIdentity TEXT;
        ALTER TABLE download ADD COLUMN lengthVerified INTEGER;
        ALTER TABLE download ADD COLUMN keptPaths TEXT;
        """

    // Rows of earlier versions are assumed to be intact.
    private static var third: String {
        let checks = RecordCheck.allCases
        let columns = checks.map { "ALTER TABLE download ADD COLUMN \($0.column) INTEGER NOT NULL DEFAULT 0;" }
        let values = checks.map { "\($0.column)=\($0.call(\.name))" }
        return columns.joined(separator: "\n") + "\nUPDATE download SET \(values.joined(separator: ","));"
    }

    private static let fourth = """
        CREATE INDEX IF NOT EXISTS downloadFinished ON download(path) WHERE \(finished);
        """

    private static let fifth = "ALTER TABLE download ADD COLUMN errorHolder TEXT;"

    /// Completed downloads whose file is known.  Index and query must contain this text unchanged to fit together.
    static let finished = "path IS NOT NULL AND state='completed' AND finishedInode IS NOT NULL"

    /// How a database relates to this program.
    enum Standing: Equatable {
        case current
        case older(Int64)
        case future(Int64)
        case foreign
    }

    /// Reads only the header.
    static func standing(of database: borrowing Database) throws(StoreError) -> Standing {
        let version = try database.integer("PRAGMA user_version")
        let application = try database.integer("PRAGMA application_id")
        if application == 0 && version == 0 {
            let isEmpty = try database.integer("SELECT count(*) FROM sqlite_schema") == 0
            return isEmpty ? .older(0) : .foreign
        }
        if application != applicationID { return .foreign }
        if version < 1 { throw StoreError.damaged("its schema version is \(version)") }
        if version == Self.version { return .current }
        return version > Self.version ? .future(version) : .older(version)
    }

    /// Migrates a database to our version, completely or not at all.
    static func migrate(_ database: borrowing Database, from version: Int64) throws(StoreError) {
        try database.run("BEGIN IMMEDIATE")
        do throws(StoreError) {
            for statements in migrations.dropFirst(Int(clamping: max(0, version))) { try database.run(statements) }
            try database.run("PRAGMA application_id=\(applicationID)")
            try database.run("PRAGMA user_version=\(Self.version)")
            try database.run("COMMIT")
        } catch {
            if database.isInTransaction() { try? database.run("ROLLBACK") }
            throw error
        }
    }
}
