/// A problem found while the state was opened that the user should know.
package enum StoreDiagnostic: Equatable, Sendable {
    /// The database was damaged and moved to this path; a new one replaced it, with this number of its downloads.
    case damagedDatabaseSetAside(path: String, message: String, rescuedCount: Int)
    /// Something in place of one of our files was moved to this path.
    case strangerSetAside(path: String)
    /// The database is older than what had been stored: its last changes, or all of it, are lost.
    case changesLost(path: String, revision: Int64, lastRevision: Int64)

    /// One sentence for the log.
    package var text: String {
        switch self {
        case .damagedDatabaseSetAside(let path, let message, let rescuedCount):
            "the database was damaged (\(message)) and was moved to \(path); \(rescuedCount) of its downloads were rescued, "
                + "the others are lost"
        case .strangerSetAside(let path):
            "something in the state directory is not a file of this program, and was moved to \(path)"
        case .changesLost(let path, 0, _):
            "the database \(path) is missing or empty; its downloads are lost"
        case .changesLost(let path, let revision, let lastRevision):
            "the database \(path) has lost its last changes (it contains \(revision), \(lastRevision) were stored); "
                + "unfinished downloads restart at 0"
        }
    }
}
