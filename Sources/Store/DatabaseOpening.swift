internal import Glibc
internal import Platform

/// Opens the database of a state directory: checks that it is ours, migrates it, moves a damaged one aside and rescues
/// what can be read of it.
struct DatabaseOpening {
    let directory: StateDirectory
    let session: Int64
    let busyLimitMilliseconds: Int32
    private(set) var diagnostics: [StoreDiagnostic] = []
    /// Sessions that were dead before other processes were let in.
    private(set) var deadSessions: Set<Int64> = []
    private var rescued: Rescued?

    init(directory: StateDirectory, session: Int64, busyLimitMilliseconds: Int32) {
        self.directory = directory
        self.session = session
        self.busyLimitMilliseconds = busyLimitMilliseconds
        diagnostics = directory.strangers.map { .strangerSetAside(path: $0) }
    }

    /// Returns the table of a database that is ready to use; after that the directory is shared.
    mutating func open() throws(StateDirectoryError) -> RecordTable {
        try moveStrangersAway()
        let table = RecordTable(try openOrReplace())
        if directory.isSole { try compareRevisions(table) }
        do throws(Errno) {
            try directory.share()
        } catch {
            throw StateDirectoryError(path: directory.path, doing: "share the state directory", error)
        }
        return table
    }

    // MARK: Files of others in our places

    private mutating func moveStrangersAway() throws(StateDirectoryError) {
        let path = directory.databasePath
        guard directory.isSole else {
            // SQLite would follow a link.
            guard let status = try? FileStatus(path: path), status.kind != .regular else { return }
            throw StateDirectoryError(
                .damaged, path: path,
                "\(path) is not a plain file, and another process is running; end that process and start again")
        }
        do throws(Errno) {
            for suffix in DatabaseRescue.suffixes {
                guard let target = try PathRepair.setAsideUnlessRegular(path + suffix) else { continue }
                diagnostics.append(.strangerSetAside(path: target))
            }
            try DatabaseRescue.finishInterrupted(path)
            // SQLite removes the log of an empty database, but it may contain all the data.
            if try PathRepair.byteCount(path) ?? 0 == 0, try PathRepair.byteCount(path + "-wal") != nil {
                try DatabaseRescue.setAside(path)
            }
        } catch {
            throw StateDirectoryError(.damaged, path: path, doing: "move aside what is not a database:", error)
        }
        moveStrangersAwayFromSessions()
    }

    private mutating func moveStrangersAwayFromSessions() {
        for name in (try? directoryEntries(directory.sessionsPath)) ?? [] {
            guard let number = Int64(name), number != session else { continue }
            let path = directory.sessionsPath + "/" + name
            // If it cannot be moved, it still counts as a dead session.
            if let target = try? PathRepair.setAsideUnlessRegular(path) {
                diagnostics.append(.strangerSetAside(path: target))
            }
            deadSessions.insert(number)
        }
    }

    // MARK: Opening

    private mutating func openOrReplace() throws(StateDirectoryError) -> Database {
        let path = directory.databasePath
        let damage: StoreError
        do throws(OpenFailure) {
            return try attemptTwice()
        } catch {
            switch error {
            case .refused(let refusal): throw refusal
            case .storage(let failure) where failure.isCorrupt: damage = failure
            case .storage(let failure): throw StateDirectoryError(database: path, failure)
            }
        }
        try readThrough()
        guard directory.isSole else {
            throw StateDirectoryError(
                .damaged,
                path: path,
                "the database \(path) is damaged (\(damage.message)) and in use by another process; "
                    + "end that process and start again: the database will then be moved aside and replaced"
            )
        }
        let rescue = DatabaseRescue(
            path: path, modeSource: directory.lockPath, busyLimitMilliseconds: busyLimitMilliseconds)
        let rescued: Rescued
        do throws(StoreError) {
            rescued = try rescue.makeReplacement(after: directory.notedRevision())
        } catch {
            throw StateDirectoryError(database: path, error)
        }
        do throws(Errno) {
            let target = try rescue.replace()
            try? removeFile(directory.checkRequestPath)
            self.rescued = rescued
            diagnostics.append(
                .damagedDatabaseSetAside(path: target, message: damage.message, rescuedCount: rescued.count))
        } catch {
            throw StateDirectoryError(.damaged, path: path, doing: "move the damaged database aside:", error)
        }
        do throws(OpenFailure) {
            return try attempt()
        } catch {
            switch error {
            case .refused(let refusal): throw refusal
            case .storage(let failure): throw StateDirectoryError(database: path, failure)
            }
        }
    }

    private enum OpenFailure: Error {
        case refused(StateDirectoryError)
        case storage(StoreError)
    }

    /// One failed system call must not decide about the state.
    private func attemptTwice() throws(OpenFailure) -> Database {
        do throws(OpenFailure) {
            return try attempt()
        } catch {
            if case .storage(let failure) = error, !failure.isBusy { return try attempt() }
            throw error
        }
    }

    /// SQLite also reports a disk that cannot be read as damage: refuses if the disk is the cause.
    ///
    /// No connection is open here, so closing our descriptor drops no lock.
    private func readThrough() throws(StateDirectoryError) {
        guard directory.isSole else { return }
        for suffix in ["", "-wal"] {
            do throws(Errno) {
                let file = try FileDescriptor(open: directory.databasePath + suffix, flags: O_RDONLY | O_NOFOLLOW)
                var offset: Int64 = 0
                while true {
                    let count = try file.read(count: 1 << 20, at: offset).count
                    if count == 0 { break }
                    offset += Int64(count)
                }
            } catch {
                if error == .noEntry { continue }
                throw StateDirectoryError(.storage, path: directory.path, doing: "read the database in", error)
            }
        }
    }

    private func attempt() throws(OpenFailure) -> Database {
        let path = directory.databasePath
        let database = try storage { () throws(StoreError) in
            try Database(path: path, modeSource: directory.lockPath, busyLimitMilliseconds: busyLimitMilliseconds)
        }
        let schema = try storage { () throws(StoreError) in try SchemaCheck() }
        let standing = try storage { () throws(StoreError) in try Schema.standing(of: database) }
        if let refusal = refusal(standing) { throw .refused(refusal) }
        try storage { () throws(StoreError) in
            if standing != .older(0) { try schema.checkObjects(of: database) }
            try database.beginService()
            // SQLite opens a file that it cannot write in read-only mode, and reports it only now.
            try database.run("BEGIN IMMEDIATE; ROLLBACK")
            if database.isReadOnly() { throw .readOnly }
            if case .older(let version) = standing { try Schema.migrate(database, from: version) }
            try schema.checkWhole(database)
            if directory.isSole { try check(database) }
            if database.hasLostIndex() { throw .indexLost }
        }
        return database
    }

    private func storage<Value: ~Copyable>(_ body: () throws(StoreError) -> Value) throws(OpenFailure) -> Value {
        do throws(StoreError) {
            return try body()
        } catch {
            // Our own statements are correct: a table or column that they do not find is damage.
            throw .storage(error.isStatementError ? .damaged(error.message) : error)
        }
    }

    /// Checks the whole database if it is small, or if an earlier process found damage in it.
    private func check(_ database: borrowing Database) throws(StoreError) {
        let isRequested = (try? FileStatus(path: directory.checkRequestPath)) != nil
        try DatabaseCheck.checkFrame(database)
        let isSmall = try DatabaseCheck.isSmall(database)
        if isRequested || isSmall { try DatabaseCheck.checkAll(database) }
        if isRequested { try? removeFile(directory.checkRequestPath) }
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
                "the database \(path) has schema version \(version), this program can read up to \(Schema.version); "
                    + "use a newer program, or --state-dir to name another directory"
            )
        case .foreign:
            return StateDirectoryError(
                .foreignDatabase,
                path: path,
                "\(path) is the database of another program; use --state-dir to name another directory"
            )
        }
    }

    // MARK: Lost changes

    /// A database with a lower revision than was committed has lost its last changes, or is an old copy: its ranges may
    /// be of bytes that were replaced since.
    private mutating func compareRevisions(_ table: RecordTable) throws(StateDirectoryError) {
        do throws(StoreError) {
            let current = try table.meta("revision")
            // If no revision of a damaged database could be read, the damage was already reported.
            let revision = rescued.map(\.revision) ?? current
            guard let revision, let noted = directory.notedRevision(), noted > revision else {
                directory.noteRevision(current)
                return
            }
            let last = try table.forgetRanges(after: max(noted, current))
            directory.noteRevision(last)
            let path = directory.databasePath
            diagnostics.append(.changesLost(path: path, revision: revision, lastRevision: noted))
        } catch {
            if error.isCorrupt { directory.requestCheck() }
            throw StateDirectoryError(database: directory.databasePath, error)
        }
    }
}

extension StateDirectory {
    /// Requests that the next process that is alone checks the whole database.
    func requestCheck() {
        _ = try? FileDescriptor(open: checkRequestPath, flags: O_WRONLY | O_CREAT | O_NOFOLLOW, mode: 0o600)
    }
}
