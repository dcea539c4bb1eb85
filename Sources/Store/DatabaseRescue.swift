internal import Platform

/// What could be read of a damaged database.
struct Rescued {
    /// Number of downloads in the new database.
    var count = 0
    /// The revision of the damaged database; nil if it is unknown.
    var revision: Int64?
}

/// Makes a new database from what can be read of a damaged one, and replaces the damaged one with it.
///
/// The damaged one stays in place until the new one is complete, so a kill at any time loses nothing more.
struct DatabaseRescue {
    static let suffixes = ["-wal", "-shm", "-journal", ""]
    private static let rescueSuffix = ".rescue"

    let path: String
    let modeSource: String
    let busyLimitMilliseconds: Int32

    /// Completes a `replace` that a kill interrupted between its two renames, and deletes an incomplete new database.
    static func finishInterrupted(_ path: String) throws(Errno) {
        let rescue = path + rescueSuffix
        guard try PathRepair.byteCount(rescue) != nil else { return }
        if try PathRepair.byteCount(path) == nil { return try renameReplacing(rescue, to: path) }
        remove(rescue)
    }

    /// Moves the files of a database aside, and returns the new path.
    @discardableResult static func setAside(_ path: String) throws(Errno) -> String {
        let target = PathRepair.freeName(for: path)
        // The log first: next to a new database it would be replayed into it; without its database it has no effect.
        for suffix in suffixes {
            do throws(Errno) {
                try renameReplacing(path + suffix, to: target + suffix)
            } catch {
                if error != .noEntry { throw error }
            }
        }
        return target
    }

    private static func remove(_ path: String) {
        for suffix in suffixes { try? removeFile(path + suffix) }
    }

    /// Puts the new database in place; returns the new path of the damaged one.
    func replace() throws(Errno) -> String {
        let target = try Self.setAside(path)
        try renameReplacing(path + Self.rescueSuffix, to: path)
        return target
    }

    /// Makes the new database next to the damaged one.
    ///
    /// - Parameter noted: the last revision that was noted outside of the database.
    func makeReplacement(after noted: Int64?) throws(StoreError) -> Rescued {
        let new = path + Self.rescueSuffix
        Self.remove(new)
        let database = try open(new)
        try database.beginService()
        try Schema.migrate(database, from: 0)
        let table = RecordTable(database)
        guard let old = try? RecordTable(open(path)) else { return Rescued() }
        var rescued = Rescued()
        let stored = plausible(try? old.meta("revision"))
        let last = plausible(try? old.lastRevision())
        rescued.revision = [stored, last].compactMap { $0 }.max()
        // Higher than all revisions that a client may know, so that old cursors are recognized.
        var revision = max(noted ?? 0, stored ?? 0, last ?? 0) + 1
        let floor = revision
        try table.run("BEGIN IMMEDIATE")
        try copy(from: old, to: table, revision: &revision, count: &rescued.count)
        try table.setMeta("revision", revision)
        try table.setMeta("tombstoneFloor", floor)
        try table.run("COMMIT")
        return rescued
    }

    private func open(_ path: String) throws(StoreError) -> Database {
        try Database(path: path, modeSource: modeSource, busyLimitMilliseconds: busyLimitMilliseconds)
    }

    private func plausible(_ revision: Int64?) -> Int64? {
        guard let revision, (1...StoreLimits.maxRevision).contains(revision) else { return nil }
        return revision
    }

    /// Copies the rows in order; after a row that cannot be read it continues at growing distances.
    private func copy(
        from old: RecordTable, to new: RecordTable, revision: inout Int64, count: inout Int
    ) throws(StoreError) {
        var position: Int64 = 0
        var step: Int64 = 0
        while position < StoreLimits.maxRevision {
            let found: (record: DownloadRecord, sequence: Int64, damage: RecordCheck?)?
            do throws(StoreError) {
                found = try old.next(after: position)
            } catch {
                step = max(1, step * 2)
                position += step
                continue
            }
            guard let found else { return }
            // In a damaged tree the next row can be an earlier one, again and again.
            guard found.sequence > position else {
                step = max(1, step * 2)
                position += step
                continue
            }
            position = found.sequence
            step = 0
            if found.damage == .request { continue }
            var record = found.record
            if let damage = found.damage { record.disown(damage) }
            do throws(StoreError) {
                try new.insert(record, owner: record.owner ?? 0, revision: revision + 1)
                revision += 1
                count += 1
            } catch {
                // A second row with the same id or path: one of the two is not valid any more.
                if !error.isConstraint { throw error }
            }
        }
    }
}
