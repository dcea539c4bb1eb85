internal import Glibc
internal import Platform

/// Something that happened as the state was opened and that the user should hear of.
package enum StoreDiagnostic: Equatable, Sendable {
    /// The database was damaged; a fresh one took its place, and the old one lies at this path.
    case damagedDatabaseSetAside(path: String, message: String)

    /// One sentence for the log.
    package var text: String {
        switch self {
        case .damagedDatabaseSetAside(let path, let message):
            "the database was damaged (\(message)) and lies now at \(path); its downloads are not known any more"
        }
    }
}

/// Opens the database of a state directory: checks whose it is, migrates it, sets a damaged one aside.
struct DatabaseOpening {
    let directory: StateDirectory
    let busyLimitMilliseconds: Int32
    var diagnostics: [StoreDiagnostic] = []

    init(directory: StateDirectory, busyLimitMilliseconds: Int32) {
        self.directory = directory
        self.busyLimitMilliseconds = busyLimitMilliseconds
    }

    /// A database that is ready for service; the directory is shared afterwards.
    mutating func open() throws(StateDirectoryError) -> Database {
        let database = try openOrReplace()
        do throws(Errno) {
            try directory.share()
        } catch {
            throw StateDirectoryError(path: directory.path, doing: "share the state directory", error)
        }
        return database
    }

    private mutating func openOrReplace() throws(StateDirectoryError) -> Database {
        let damage: StoreError
        do throws(OpenFailure) {
            return try attempt()
        } catch {
            switch error {
            case .refused(let refusal): throw refusal
            case .storage(let failure) where failure.isCorrupt: damage = failure
            case .storage(let failure): throw StateDirectoryError(database: directory.databasePath, failure)
            }
        }
        guard directory.isSole else {
            throw StateDirectoryError(
                .damaged,
                path: directory.databasePath,
                "the database \(directory.databasePath) is damaged (\(damage.message)) and in use by another process; "
                    + "end that process and start again: the database will be set aside"
            )
        }
        try setAside(damage)
        do throws(OpenFailure) {
            return try attempt()
        } catch {
            switch error {
            case .refused(let refusal): throw refusal
            case .storage(let failure): throw StateDirectoryError(database: directory.databasePath, failure)
            }
        }
    }

    private enum OpenFailure: Error {
        case refused(StateDirectoryError)
        case storage(StoreError)
    }

    private func attempt() throws(OpenFailure) -> Database {
        let path = directory.databasePath
        let database = try storage { () throws(StoreError) in
            try Database(path: path, modeSource: directory.lockPath, busyLimitMilliseconds: busyLimitMilliseconds)
        }
        let standing = try storage { () throws(StoreError) in try Schema.standing(of: database) }
        if let refusal = refusal(standing) { throw .refused(refusal) }
        try storage { () throws(StoreError) in
            try database.beginService()
            if case .older(let version) = standing { try Schema.migrate(database, from: version) }
            try check(database)
        }
        return database
    }

    private func storage<Value: ~Copyable>(_ body: () throws(StoreError) -> Value) throws(OpenFailure) -> Value {
        do throws(StoreError) {
            return try body()
        } catch {
            throw .storage(error)
        }
    }

    private func refusal(_ standing: Schema.Standing) -> StateDirectoryError? {
        let path = directory.databasePath
        switch standing {
        case .current:
            return nil
        case .older where directory.isSole:
            return nil
        case .older(let version):
            return StateDirectoryError(
                .inUse,
                path: path,
                "the database \(path) has schema version \(version), this program writes \(Schema.version), and "
                    + "another process uses it; end that process and start again"
            )
        case .future(let version):
            return StateDirectoryError(
                .futureSchema,
                path: path,
                "the database \(path) has schema version \(version), this program knows up to \(Schema.version); "
                    + "use a newer program, or --state-dir to name another directory"
            )
        case .foreign:
            return StateDirectoryError(
                .foreignDatabase,
                path: path,
                "\(path) is a database of another program; use --state-dir to name another directory"
            )
        }
    }

    /// Reads a little of every table; the whole database if an earlier process met a damaged page.
    private func check(_ database: borrowing Database) throws(StoreError) {
        for table in ["meta", "download", "removed"] { _ = try database.integer("SELECT 1 FROM \(table) LIMIT 1") }
        guard directory.isSole, (try? FileStatus(path: directory.checkRequestPath)) != nil else { return }
        let verdict = try database.text("PRAGMA quick_check(1)")
        if verdict != "ok" { throw StoreError.damaged(verdict) }
        try? removeFile(directory.checkRequestPath)
    }

    private mutating func setAside(_ damage: StoreError) throws(StateDirectoryError) {
        let path = directory.databasePath
        var seconds = unixMilliseconds() / 1000
        do throws(Errno) {
            while (try? FileStatus(path: "\(path).damaged-\(seconds)")) != nil { seconds += 1 }
            let target = "\(path).damaged-\(seconds)"
            // The log first: without its database it means nothing, beside a fresh one it would be replayed into it.
            for suffix in ["-wal", "-shm", ""] {
                do throws(Errno) {
                    try renameReplacing(path + suffix, to: target + suffix)
                } catch {
                    if error != .noEntry { throw error }
                }
            }
            try? removeFile(directory.checkRequestPath)
            diagnostics.append(.damagedDatabaseSetAside(path: target, message: damage.message))
        } catch {
            throw StateDirectoryError(.damaged, path: path, doing: "set the damaged database aside:", error)
        }
    }
}

extension StateDirectory {
    /// Asks the next process that is alone to check the whole database.
    func requestCheck() {
        _ = try? FileDescriptor(open: checkRequestPath, flags: O_WRONLY | O_CREAT | O_NOFOLLOW, mode: 0o600)
    }
}
