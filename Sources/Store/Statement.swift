internal import CSQLite

/// One prepared statement.  Isolation: the thread of its database.
///
/// Parameters are numbered from 1, columns from 0, as in SQLite. Bound values are copied.
@safe package struct Statement: ~Copyable {
    private let raw: OpaquePointer

    /// Takes ownership of a statement.
    init(owning raw: OpaquePointer) {
        unsafe self.raw = raw
    }

    deinit { _ = unsafe sqlite3_finalize(raw) }

    package borrowing func bind(_ index: Int32, _ value: Int64) throws(StoreError) {
        try check(unsafe sqlite3_bind_int64(raw, index, value))
    }

    /// Binds an integer or NULL.
    package borrowing func bind(_ index: Int32, _ value: Int64?) throws(StoreError) {
        if let value { return try bind(index, value) }
        try bindNull(index)
    }

    package borrowing func bindNull(_ index: Int32) throws(StoreError) {
        try check(unsafe sqlite3_bind_null(raw, index))
    }

    package borrowing func bind(_ index: Int32, _ value: String) throws(StoreError) {
        var value = value
        // Safety: SQLite copies the bytes before the call returns.
        let code = value.withUTF8 { bytes in
            unsafe bytes.withMemoryRebound(to: CChar.self) { bytes in
                unsafe csqlite_bind_text(raw, index, bytes.baseAddress, Int32(clamping: bytes.count))
            }
        }
        try check(code)
    }

    /// Binds a text or NULL.
    package borrowing func bind(_ index: Int32, _ value: String?) throws(StoreError) {
        if let value { return try bind(index, value) }
        try bindNull(index)
    }

    /// Binds a blob or NULL.
    package borrowing func bind(_ index: Int32, _ value: [UInt8]?) throws(StoreError) {
        guard let value else { return try bindNull(index) }
        // Safety: SQLite copies the bytes before the call returns.
        let code = unsafe value.withUnsafeBytes { bytes in
            unsafe csqlite_bind_blob(raw, index, bytes.baseAddress, Int32(clamping: bytes.count))
        }
        try check(code)
    }

    /// Moves to the next row; false if there is none left.
    package borrowing func step() throws(StoreError) -> Bool {
        let code = unsafe sqlite3_step(raw)
        if code == SQLITE_ROW { return true }
        if code == SQLITE_DONE { return false }
        throw failure(code)
    }

    /// Runs a statement without rows; afterwards it can run again, whether it succeeded or not.
    package borrowing func run() throws(StoreError) {
        defer { reset() }
        while try step() {}
    }

    /// Ends the run, so that parameters can be bound again; a statement that is not reset keeps its transaction open.
    package borrowing func reset() {
        _ = unsafe sqlite3_reset(raw)
    }

    package borrowing func isNull(_ column: Int32) -> Bool {
        unsafe sqlite3_column_type(raw, column) == SQLITE_NULL
    }

    /// The column as an integer; 0 for NULL.
    package borrowing func integer(_ column: Int32) -> Int64 {
        unsafe sqlite3_column_int64(raw, column)
    }

    package borrowing func optionalInteger(_ column: Int32) -> Int64? {
        isNull(column) ? nil : integer(column)
    }

    /// The column as text, with invalid UTF-8 repaired; nil for NULL.
    package borrowing func optionalText(_ column: Int32) -> String? {
        // Safety: the bytes stay until the next step, reset or conversion; they are copied here.
        guard let bytes = unsafe sqlite3_column_text(raw, column) else { return nil }
        let count = Int(unsafe sqlite3_column_bytes(raw, column))
        return unsafe String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
    }

    /// The column as text; empty for NULL.
    package borrowing func text(_ column: Int32) -> String {
        optionalText(column) ?? ""
    }

    /// The column as bytes; nil for NULL.
    package borrowing func optionalBlob(_ column: Int32) -> [UInt8]? {
        if isNull(column) { return nil }
        // Safety: as for text.
        guard let bytes = unsafe sqlite3_column_blob(raw, column) else { return [] }
        let count = Int(unsafe sqlite3_column_bytes(raw, column))
        return unsafe Array(UnsafeRawBufferPointer(start: bytes, count: count))
    }

    private borrowing func check(_ code: Int32) throws(StoreError) {
        if code != SQLITE_OK { throw failure(code) }
    }

    private borrowing func failure(_ code: Int32) -> StoreError {
        unsafe Database.failure(sqlite3_db_handle(raw), code)
    }
}
