internal import Platform

/// What could be read of a damaged database.
struct Rescued {
    /// Downloads that are in the new one.
    var count = 0
    /// The damaged one's own revision; nil when nothing tells it.
    var revision: Int64?
}

/// Makes a new database of what can be read of a damaged one, and puts it in its place.
///
/// The damaged one stays where it is until the new one is complete: a kill at any point loses nothing more.
struct DatabaseRescue {
    static let suffixes = ["-wal", "-shm", "-journal", ""]
    private static let rescueSuffix = ".rescue"

    let path: String
    let modeSource: String
    let busyLimitMilliseconds: Int32

    /// Ends what a kill interrupted between the two renames of `replace`, and forgets what was begun before them.
    static func finishInterrupted(_ path: String) throws(Errno) {
        let rescue = path + rescueSuffix
        guard try PathRepair.byteCount(rescue) != nil else { return }
        if try PathRepair.byteCount(path) == nil { return try renameReplacing(rescue, to: path) }
        remove(rescue)
    }

    /// Moves the files of a database away, and returns where it lies now.
    @discardableResult static func setAside(_ path: String) throws(Errno) -> String {
        let target = PathRepair.freeName(for: path)
        // The log first: without its database it means nothing, beside a fresh one it would be replayed into it.
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

    /// Puts the new database in place; returns where the damaged one lies.
    func replace() throws(Errno) -> String {
        let target = try Self.setAside(path)
        try renameReplacing(path + Self.rescueSuffix, to: path)
        return target
    }

    /// Makes the new database beside the damaged one.
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
        // Above everything that a client may remember, so that old cursors are known as such.
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

    /// Goes through the rows in order; where one cannot be read it tries further and further on.
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
                // A second row of the same name or place: one of the two is a ghost.
                if !error.isConstraint { throw error }
            }
        }
    }
}
