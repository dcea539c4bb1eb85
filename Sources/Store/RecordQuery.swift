/// The statements that the store runs, each prepared once.
enum RecordQuery: Int, CaseIterable {
    case byID
    case bySequence
    case next
    case lastRevision
    case byRequest
    case byPath
    case finishedByPath
    case insert
    case update
    case updateProgress
    case updatePath
    case takeOver
    case release
    case delete
    case insertTombstone
    case deleteTombstone
    case lastTombstoneToTrim
    case trimTombstones
    case tombstonesAfter
    case meta
    case setMeta
    case nextOwner
    case sequencesByOwner
    case sequencesByOwnerAndReason
    case sequencesAfter
    case sequenceOfID
    case changesAfter
    case counts
    case insertYielding
    case isYielding
    case trimYielding
    case insertHandover
    case deleteHandover
    case handovers

    var sql: String {
        switch self {
        case .byID: Self.select + "id=?1"
        case .bySequence: Self.select + "sequence=?1"
        case .next: Self.select + "sequence>?1 ORDER BY sequence LIMIT 1"
        case .lastRevision: "SELECT max(revision) FROM download NOT INDEXED"
        case .byRequest: Self.select + "destinationKey=?1 AND url=?2 AND \(Schema.notFinal) ORDER BY sequence LIMIT 1"
        case .byPath: Self.select + "path=?1 AND path IS NOT NULL AND \(Schema.notFinal)"
        case .finishedByPath: Self.select + "path=?1 AND \(Schema.finished) AND url=?2 ORDER BY sequence DESC LIMIT 1"
        case .insert: Self.insertion
        case .update: Self.replacement
        case .updateProgress:
            """
            UPDATE download SET durable=?4, transferredByteCount=?5, wastedByteCount=?6,
              \(RecordCheck.progress.update([.durable: "?4", .transferredByteCount: "?5", .wastedByteCount: "?6"]))
            WHERE id=?1 AND owner=?2 AND attempt=?3
            """
        case .updatePath:
            """
            UPDATE download SET path=?3, revision=?4, \(RecordCheck.request.update([.path: "?3"]))
            WHERE id=?1 AND owner=?2
            """
        case .takeOver:
            """
            UPDATE download SET owner=?3, state=?4, reason=?5, written=?6, slot=NULL, revision=?7,
              \(RecordCheck.progress.update([.state: "?4", .reason: "?5", .written: "?6"]))
            WHERE id=?1 AND owner=?2
            """
        case .release: "UPDATE download SET owner=0, revision=?3 WHERE id=?1 AND owner=?2"
        case .delete: "DELETE FROM download WHERE id=?1"
        case .insertTombstone: "INSERT OR REPLACE INTO removed(revision, id) VALUES(?1, ?2)"
        case .deleteTombstone: "DELETE FROM removed WHERE id=?1"
        case .lastTombstoneToTrim: "SELECT revision FROM removed ORDER BY revision DESC LIMIT 1 OFFSET ?1"
        case .trimTombstones: "DELETE FROM removed WHERE revision<=?1"
        case .tombstonesAfter: "SELECT revision, id FROM removed WHERE revision>?1 ORDER BY revision LIMIT ?2"
        case .meta: "SELECT value FROM meta WHERE key=?1"
        case .setMeta: "UPDATE meta SET value=?2 WHERE key=?1"
        // The maximum excludes texts, which sort after all numbers.
        case .nextOwner: "SELECT min(owner) FROM download WHERE state=?1 AND owner>?2 AND owner<=\(Int64.max)"
        case .sequencesByOwner:
            "SELECT sequence FROM download WHERE state=?1 AND owner=?2 AND sequence>?3 ORDER BY sequence LIMIT ?4"
        case .sequencesByOwnerAndReason:
            """
            SELECT sequence FROM download WHERE state=?1 AND owner=?2 AND sequence>?3 AND reason=?5
            ORDER BY sequence LIMIT ?4
            """
        case .sequencesAfter: "SELECT sequence FROM download WHERE sequence>?1 ORDER BY sequence LIMIT ?2"
        case .sequenceOfID: "SELECT sequence FROM download WHERE id=?1"
        case .changesAfter:
            "SELECT revision, sequence, state, owner, id FROM download WHERE revision>?1 ORDER BY revision"
        case .counts: "SELECT state, owner, count(*) FROM download GROUP BY state, owner"
        case .insertYielding: "INSERT OR REPLACE INTO yielding(session) VALUES(?1)"
        case .isYielding: "SELECT session FROM yielding WHERE session=?1"
        case .trimYielding: "DELETE FROM yielding WHERE session=?1"
        case .insertHandover: "INSERT OR REPLACE INTO handover(id) VALUES(?1)"
        case .deleteHandover: "DELETE FROM handover WHERE id=?1"
        case .handovers: "SELECT handover.id FROM handover JOIN download USING(id) WHERE owner=?1"
        }
    }

    /// The parameter of `update` for the owner that the row must have.
    static let expectedOwner = Int32(RecordColumn.allCases.count + 1)

    /// The same query for a row with a value that is too large to read; nil for queries that read no record.
    func sql(reading part: RecordPart) -> String? {
        sql.hasPrefix(Self.select) ? part.select + sql.dropFirst(Self.select.count) : nil
    }

    private static var columns: String { RecordColumn.allCases.map(\.name).joined(separator: ",") }
    private static var select: String {
        "SELECT \(columns),\(RecordCheck.request.isIntact),\(RecordCheck.progress.isIntact) FROM download WHERE "
    }

    private static var insertion: String {
        let parameters = RecordColumn.allCases.map { "?\($0.parameter)" }.joined(separator: ",")
        let checks = RecordCheck.allCases
        return """
            INSERT INTO download(\(columns),\(checks.map(\.column).joined(separator: ",")))
            VALUES(\(parameters),\(checks.map { $0.call { "?\($0.parameter)" } }.joined(separator: ",")))
            """
    }

    private static var replacement: String {
        let kept: Set<RecordColumn> = [.id, .sequence]
        var settings = RecordColumn.allCases.filter { !kept.contains($0) }.map { "\($0.name)=?\($0.parameter)" }
        for check in RecordCheck.allCases {
            let value = check.call { kept.contains($0) ? $0.name : "?\($0.parameter)" }
            settings.append("\(check.column)=\(value)")
        }
        return """
            UPDATE download SET \(settings.joined(separator: ","))
            WHERE id=?\(RecordColumn.id.parameter) AND owner=?\(expectedOwner)
            """
    }
}

/// Which part of a row is read if a value in it is too large: the rest is read as NULL, and as damaged.
enum RecordPart: Int, CaseIterable {
    /// The request and the state.
    case request
    /// The state only.
    case standing

    private static let standingColumns: Set<RecordColumn> = [
        .id, .state, .reason, .intent, .owner, .attempt, .createdAt, .updatedAt, .sequence, .revision,
    ]

    /// All columns in their order, as `Statement.record` reads them.
    fileprivate var select: String {
        let columns = RecordColumn.allCases.map { column in
            let isRead =
                Self.standingColumns.contains(column)
                || (self == .request && RecordCheck.request.columns.contains(column))
            return isRead ? column.name : "NULL"
        }
        let isIntact = self == .request ? RecordCheck.request.isIntact : "0"
        return "SELECT \(columns.joined(separator: ",")),\(isIntact),0 FROM download WHERE "
    }
}
