internal import Platform

/// Why the state directory cannot be used.  The caller shows the message and exits 73.
package struct StateDirectoryError: Error, Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        case badApplicationName
        case noHomeDirectory
        case cannotCreate
        case notDirectory
        /// It, or a file in it, belongs to another user or can be written by others.
        case notOurs
        case networkFileSystem
        case inUse
        case futureSchema
        case foreignDatabase
        case damaged
        case storage
    }
    package let kind: Kind
    /// The directory or file with the problem.
    package let path: String
    /// One sentence that contains the path and says what to do.
    package let message: String

    package init(_ kind: Kind, path: String, _ message: String) {
        self.kind = kind
        self.path = path
        self.message = message
    }

    init(_ kind: Kind = .cannotCreate, path: String, doing what: String, _ error: Errno) {
        self.init(
            kind, path: path, "cannot \(what) \(path): \(error.message); use --state-dir to name another directory")
    }

    init(path: String, making error: Errno) {
        let kind: Kind = error == .notDirectory ? .notDirectory : .cannotCreate
        self.init(kind, path: path, doing: "create or use the state directory", error)
    }

    init(database path: String, _ error: StoreError) {
        let reason = error.isFull ? "no space left" : error.message
        self.init(.storage, path: path, "cannot use the database \(path): \(reason)")
    }
}
