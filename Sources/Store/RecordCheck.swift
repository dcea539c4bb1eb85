internal import Core
internal import Platform

/// Checksums of a record's columns, computed by SQLite's side of every statement: SQLite itself does not notice a bit
/// that has changed inside a value.
///
/// There are two, so that harm to what is known of the bytes does not cost what was asked for.
enum RecordCheck: String, CaseIterable {
    /// What was asked for, and where it goes.
    case request
    /// How far it came.
    case progress

    private static let requestColumns: Set<RecordColumn> = [
        .id, .url, .requestedPath, .requestedDirectory, .requestedFileName, .destinationKey, .path, .ifExists,
        .checksum, .options, .headers, .metadata, .priority, .createdAt, .sequence,
    ]
    /// What other processes change without reading the row, and what does no harm when it is wrong: marks name their
    /// download and attempt themselves, and the holder only says which download to look at.
    private static let uncheckedColumns: Set<RecordColumn> = [.owner, .slot, .revision, .errorHolder]

    var column: String { rawValue + "Check" }

    var columns: [RecordColumn] {
        RecordColumn.allCases.filter { column in
            switch self {
            case .request: Self.requestColumns.contains(column)
            case .progress: !Self.requestColumns.contains(column) && !Self.uncheckedColumns.contains(column)
            }
        }
    }

    /// The checksum, as SQL, of what an expression says of each column.
    func call(_ value: (RecordColumn) -> String) -> String {
        "row_check(\(columns.map(value).joined(separator: ",")))"
    }

    /// SQL that is true for a row whose columns are as they were written.
    var isIntact: String { "\(column)=\(call(\.name))" }

    /// A setting for an UPDATE of these columns alone; a row that was damaged before stays so.
    func update(_ changes: [RecordColumn: String]) -> String {
        "\(column)=CASE WHEN \(isIntact) THEN \(call { changes[$0] ?? $0.name }) ELSE 0 END"
    }
}

extension Statement {
    /// What is damaged of the row that `record` reads.
    borrowing func damage() -> RecordCheck? {
        let first = Int32(RecordColumn.allCases.count)
        if integer(first) != 1 { return .request }
        return integer(first + 1) == 1 ? nil : .progress
    }
}

extension DownloadRecord {
    /// Takes out what cannot be believed any more.
    mutating func forget(_ damage: RecordCheck) {
        forgetRanges()
        entity = nil
        partialPath = nil
        partial = nil
        isFinalizing = false
        finished = nil
        // What is kept beside may be deleted with the file: no path that nobody has written.
        keptPaths = []
        transfer = nil
        isLengthVerified = nil
        let message = "the record of this download was damaged"
        failure = DownloadFailure(.storage, message, isRetryable: false)
        if state.isFinal { state = .failed }
        if damage == .request {
            // Nothing may be fetched from, or written to, a place that nobody asked for.
            url = ""
            path = nil
            state = .failed
            reason = nil
        }
    }

    /// Forgets, and belongs to nobody.
    mutating func disown(_ damage: RecordCheck) {
        forget(damage)
        disown()
    }

    mutating func disown() {
        owner = nil
        guard state.isRunning else { return }
        state = .paused
        reason = .interrupted
    }

    /// Counts on no byte any more, nor on marks that lie elsewhere.
    mutating func forgetRanges() {
        durable = ByteRangeSet()
        written = nil
        slotIndex = nil
        attempt = max(1, attempt &+ 1)
    }
}
