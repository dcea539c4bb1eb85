/// Something that happened as the state was opened and that the user should hear of.
package enum StoreDiagnostic: Equatable, Sendable {
    /// The database was damaged and lies now at this path; a fresh one took its place, with so many of its downloads.
    case damagedDatabaseSetAside(path: String, message: String, rescuedCount: Int)
    /// Something that is no file of ours stood at a path of the state directory, and lies now at another.
    case strangerSetAside(path: String)
    /// The database is older than what had been stored: its last changes, or all of it, are gone.
    case changesLost(path: String, revision: Int64, lastRevision: Int64)

    /// One sentence for the log.
    package var text: String {
        switch self {
        case .damagedDatabaseSetAside(let path, let message, let rescuedCount):
            "the database was damaged (\(message)) and lies now at \(path); \(rescuedCount) of its downloads were rescued, "
                + "others are not known any more"
        case .strangerSetAside(let path):
            "something that is no file of this program stood in the state directory, and lies now at \(path)"
        case .changesLost(let path, 0, _):
            "the database \(path) is missing or empty; its downloads are not known any more"
        case .changesLost(let path, let revision, let lastRevision):
            "the database \(path) has lost its last changes (it tells of \(revision), \(lastRevision) were stored); what "
                + "unfinished downloads held is fetched again"
        }
    }
}
