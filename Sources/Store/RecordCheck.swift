internal import Core
internal import Platform

/// Checksums of a record's columns, computed by SQLite in every statement, because SQLite does not notice a changed bit
/// inside a value.
///
/// There are two, so that damage to the progress does not lose the request.
enum RecordCheck: String, CaseIterable {
    /// What was requested, and the destination.
    case request
    /// The progress.
    case progress

    private static let requestColumns: Set<RecordColumn> = [
        .id, .url, .requestedPath, .requestedDirectory, .requestedFileName, .destinationKey, .path, .ifExists,
        .checksum, .options, .headers, .metadata, .priority, .createdAt, .sequence,
    ]
    /// Columns that other processes change without reading the row, or whose damage is harmless: marks contain their
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

    /// The checksum as SQL; the closure gives the expression for each column.
    func call(_ value: (RecordColumn) -> String) -> String {
        "row_check(\(columns.map(value).joined(separator: ",")))"
    }

    /// SQL that is true if the row's columns are unchanged since they were written.
    var isIntact: String { "\(column)=\(call(\.name))" }

    /// The checksum setting for an UPDATE of these columns only; a row that was damaged before stays damaged.
    func update(_ changes: [RecordColumn: String]) -> String {
        "\(column)=CASE WHEN \(isIntact) THEN \(call { changes[$0] ?? $0.name }) ELSE 0 END"
    }
}

extension Statement {
    /// Which part of the row that `record` reads is damaged.
    borrowing func damage() -> RecordCheck? {
        let first = Int32(RecordColumn.allCases.count)
        if integer(first) != 1 { return .request }
        return integer(first + 1) == 1 ? nil : .progress
    }
}

extension DownloadRecord {
    /// Deletes what cannot be trusted any more.
    mutating func forget(_ damage: RecordCheck) {
        forgetRanges()
        entity = nil
        partialPath = nil
        partial = nil
        isFinalizing = false
        finished = nil
        // Kept files may be deleted with the file, so no path may remain that nobody has written.
        keptPaths = []
        transfer = nil
        isLengthVerified = nil
        let message = "the record of this download was damaged"
        failure = DownloadFailure(.storage, message, isRetryable: false)
        if state.isFinal { state = .failed }
        if damage == .request {
            // Nothing may be downloaded from, or written to, a place that nobody requested.
            url = ""
            path = nil
            state = .failed
            reason = nil
        }
    }

    /// Deletes what cannot be trusted, and removes the owner.
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

    /// Discards all received bytes, and marks in slots.
    mutating func forgetRanges() {
        durable = ByteRangeSet()
        written = nil
        slotIndex = nil
        attempt = max(1, attempt &+ 1)
    }
}
