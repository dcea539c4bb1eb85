internal import CSQLite
internal import Platform

/// Why SQLite could not perform an operation.
package struct StoreError: Error, Equatable, Sendable {
    /// The primary result code.  C: sqlite3.h, SQLITE_*
    package let code: Int32
    package let extendedCode: Int32
    /// The `errno` of the failed system call, 0 if none failed.
    package let systemErrno: Int32
    /// SQLite's text; contains no value of any record.
    package let message: String

    package init(code: Int32, extendedCode: Int32, systemErrno: Int32 = 0, message: String) {
        self.code = code
        self.extendedCode = extendedCode
        self.systemErrno = systemErrno
        self.message = message
    }

    /// The disk or the quota is full.
    package var isFull: Bool {
        if code == SQLITE_FULL { return true }
        let cause = Errno(code: systemErrno)
        return code == SQLITE_IOERR && (cause == .noSpace || cause == .quotaExceeded)
    }

    /// The file is damaged, or is not a database.
    package var isCorrupt: Bool {
        // "Too big" means that a length is damaged: no value of ours is near the limit.
        code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_TOOBIG
    }

    /// A value is longer than any of ours: its row is damaged.
    var isTooBig: Bool { code == SQLITE_TOOBIG }

    /// The statement does not fit the schema.
    var isStatementError: Bool { code == SQLITE_ERROR }

    /// Other processes kept the lock longer than the busy limit.
    package var isBusy: Bool { code == SQLITE_BUSY || code == SQLITE_LOCKED }

    /// The file or its file system is not writable.
    package var isReadOnly: Bool { code == SQLITE_READONLY || code == SQLITE_PERM }

    /// The file could not be opened at all.
    package var isUnopenable: Bool { code == SQLITE_CANTOPEN }

    /// A read, write or sync failed.
    package var isInputOutput: Bool { code == SQLITE_IOERR }

    /// A value broke a rule of the schema; the statement changed nothing.
    var isConstraint: Bool { code == SQLITE_CONSTRAINT }
}

extension StoreError {
    /// The database was opened read-only, because the system did not allow writing.
    static let readOnly = StoreError(
        code: SQLITE_READONLY, extendedCode: SQLITE_READONLY, message: "it cannot be opened for writing")

    /// Files of the database are deleted or replaced: nothing can be stored any more.
    static func filesGone(_ path: String) -> StoreError {
        StoreError(
            code: SQLITE_IOERR, extendedCode: filesGoneCode,
            message:
                "\(path) was deleted, replaced or truncated while it was in use, and nothing can be stored any more; "
                + "end this process, and start it again")
    }

    /// The memory that the processes share was truncated repeatedly.
    static let indexLost = StoreError(
        code: SQLITE_IOERR, extendedCode: SQLITE_IOERR,
        message: "the index of the database's log was truncated while in use")

    /// The store returned an outcome that the operation cannot have: a bug of ours.
    package static let wrongAnswer = StoreError(
        code: SQLITE_MISUSE, extendedCode: SQLITE_MISUSE, message: "the store returned a result of another type")

    private static let filesGoneCode = SQLITE_IOERR | 127 << 8

    /// True for `filesGone`.
    package var isFilesGone: Bool { extendedCode == Self.filesGoneCode }

    /// Damage found by a check, as the error that SQLite would have returned later.
    static func damaged(_ message: String) -> StoreError {
        StoreError(code: SQLITE_CORRUPT, extendedCode: SQLITE_CORRUPT, message: message)
    }
}
