package import Platform

/// Renaming that never replaces, on file systems with and without a call for it.
package struct ExclusiveRename: Sendable {
    package typealias Step = @Sendable (_ oldPath: String, _ newPath: String) throws(Errno) -> Void
    private let rename: Step
    private let link: Step

    package static let system = ExclusiveRename(
        rename: { (old, new) throws(Errno) in try renameExclusively(old, to: new) },
        link: { (old, new) throws(Errno) in try hardLink(old, to: new) }
    )

    /// - Parameters:
    ///   - rename: as renameat2(2) with RENAME_NOREPLACE
    ///   - link: as link(2)
    package init(rename: @escaping Step, link: @escaping Step) {
        self.rename = rename
        self.link = link
    }

    /// Renames; `.exists` when the new name is taken.
    package func run(_ oldPath: String, to newPath: String) throws(Errno) {
        do throws(Errno) {
            return try rename(oldPath, newPath)
        } catch {
            if !Self.isUnsupported(error) { throw error }
        }
        // NFS and older FUSE. A crash between the two calls leaves both names, which publishing again mends.
        do throws(Errno) {
            try link(oldPath, newPath)
            return try removeFile(oldPath)
        } catch {
            if !Self.isUnsupported(error) { throw error }
        }
        // Neither: object stores behind FUSE. Only here may a name that appears between the two calls be lost.
        do throws(Errno) {
            _ = try FileStatus(path: newPath)
        } catch {
            if error != .noEntry { throw error }
            return try renameReplacing(oldPath, to: newPath)
        }
        throw .exists
    }

    private static func isUnsupported(_ error: Errno) -> Bool {
        [.invalidArgument, .notSupported, .notImplemented, .notPermitted].contains(error)
    }
}
