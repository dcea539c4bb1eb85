internal import CSQLite

/// One SQLite connection.  Isolation: one thread at a time (SQLITE_OPEN_NOMUTEX).
///
/// Opening does not change the file; `beginService` does.
@safe package struct Database: ~Copyable {
    private let raw: OpaquePointer
    /// Owned by SQLite until the connection is closed; nil if it could not be installed.
    private let indexGuard: OpaquePointer?

    /// Opens the file, or creates it with the mode of another file.
    ///
    /// - Parameters:
    ///   - path: absolute.
    ///   - modeSource: a file whose permissions a new database and its `-wal` and `-shm` get (sqlite.org/uri.html,
    ///     `modeof`). So the umask is not changed, and we never open the database file ourselves.
    ///   - busyLimitMilliseconds: how long to wait for another process's lock.
    package init(path: String, modeSource: String, busyLimitMilliseconds: Int32) throws(StoreError) {
        let name = "file:\(Self.percentEncoded(path))?modeof=\(Self.percentEncoded(modeSource))"
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI
        var handle: OpaquePointer?
        let code = unsafe sqlite3_open_v2(name, &handle, flags, nil)
        guard code == SQLITE_OK, let handle = unsafe handle else {
            defer { _ = unsafe sqlite3_close_v2(handle) }
            throw unsafe Self.failure(handle, code)
        }
        let hardened = unsafe csqlite_harden(handle)
        guard hardened == SQLITE_OK else {
            defer { _ = unsafe sqlite3_close_v2(handle) }
            throw unsafe Self.failure(handle, hardened)
        }
        unsafe raw = handle
        unsafe indexGuard = unsafe csqlite_guard_new(handle)
        _ = unsafe csqlite_set_busy_limit(handle, busyLimitMilliseconds)
        _ = unsafe csqlite_add_row_check(handle)
        // A damaged length must not cause an allocation of a gigabyte.
        _ = unsafe sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, 8 << 20)
        // Until it is known that the database is ours, closing must not write to it.
        _ = unsafe csqlite_set_checkpoints_on_close(handle, false)
    }

    deinit { _ = unsafe sqlite3_close_v2(raw) }

    /// Sets what every connection needs that works with the file: WAL, synchronous FULL.
    package borrowing func beginService() throws(StoreError) {
        try run("PRAGMA journal_mode=WAL")
        try run("PRAGMA synchronous=FULL")
        try run("PRAGMA temp_store=MEMORY")
        // If the file is truncated, a memory map would kill the process. Check constraints of others do not apply to
        // our records.
        try run("PRAGMA mmap_size=0")
        try run("PRAGMA ignore_check_constraints=ON")
        // A burst may grow the log; a later checkpoint shortens it again.
        try run("PRAGMA journal_size_limit=16777216")
        _ = unsafe csqlite_set_checkpoints_on_close(raw, true)
    }

    /// Runs statements and ignores their rows.
    package borrowing func run(_ sql: String) throws(StoreError) {
        let code = unsafe sqlite3_exec(raw, sql, nil, nil, nil)
        if code != SQLITE_OK { throw unsafe Self.failure(raw, code) }
    }

    package borrowing func prepare(_ sql: String) throws(StoreError) -> Statement {
        var statement: OpaquePointer?
        let code = unsafe sqlite3_prepare_v3(raw, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        guard code == SQLITE_OK, let statement = unsafe statement else { throw unsafe Self.failure(raw, code) }
        return unsafe Statement(owning: statement)
    }

    /// The first column of the first row, as an integer; 0 if there is no row.
    package borrowing func integer(_ sql: String) throws(StoreError) -> Int64 {
        let statement = try prepare(sql)
        return try statement.step() ? statement.integer(0) : 0
    }

    /// The first column of the first row, as text; empty if there is no row.
    package borrowing func text(_ sql: String) throws(StoreError) -> String {
        let statement = try prepare(sql)
        return try statement.step() ? statement.text(0) : ""
    }

    /// Number of rows that the last INSERT, UPDATE or DELETE changed.
    package borrowing func changedRowCount() -> Int {
        Int(unsafe sqlite3_changes(raw))
    }

    /// True if the file could only be opened for reading: then even `BEGIN IMMEDIATE` succeeds, without a write lock.
    borrowing func isReadOnly() -> Bool {
        unsafe sqlite3_db_readonly(raw, "main") == 1
    }

    /// True once memory that SQLite shares with other processes was found truncated: then no result of SQLite can be
    /// trusted.
    borrowing func hasLostIndex() -> Bool {
        guard let indexGuard = unsafe indexGuard else { return false }
        return unsafe csqlite_guard_is_cut(indexGuard)
    }

    /// The minimum length of the file of that memory.
    borrowing func indexByteCount() -> Int64 {
        guard let indexGuard = unsafe indexGuard else { return 0 }
        return unsafe csqlite_guard_mapped_byte_count(indexGuard)
    }

    /// The minimum length of the log at this moment.
    borrowing func logByteCount() -> Int64 {
        guard let indexGuard = unsafe indexGuard else { return 0 }
        return unsafe csqlite_guard_log_byte_count(indexGuard)
    }

    /// Lets the connection be closed without reading the log.
    borrowing func leaveLog() {
        _ = unsafe csqlite_set_checkpoints_on_close(raw, false)
    }

    package borrowing func isInTransaction() -> Bool {
        unsafe sqlite3_get_autocommit(raw) == 0
    }

    /// The error of the connection's last failed call.
    static func failure(_ handle: OpaquePointer?, _ code: Int32) -> StoreError {
        let text = unsafe sqlite3_errmsg(handle).map { unsafe String(cString: $0) }
        return unsafe StoreError(
            code: code & 0xff,
            extendedCode: handle == nil ? code : sqlite3_extended_errcode(handle),
            systemErrno: handle == nil ? 0 : sqlite3_system_errno(handle),
            message: text ?? "out of memory"
        )
    }

    private static func percentEncoded(_ path: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var result: [UInt8] = []
        for byte in path.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "-"):
                result.append(byte)
            default:
                result += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}
