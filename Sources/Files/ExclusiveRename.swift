package import Platform

/// A rename that never replaces a file, with a fallback for file systems without renameat2(2).
package struct ExclusiveRename: Sendable {
    package typealias Step = @Sendable (_ old: Place, _ new: Place) throws(Errno) -> Void
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
    package func run(_ old: Place, to new: Place) throws(Errno) {
        do throws(Errno) {
            return try rename(old, new)
        } catch {
            if !Self.isUnsupported(error) { throw error }
        }
        // NFS and older FUSE. A crash between the two calls leaves both names; the next publish fixes that.
        do throws(Errno) {
            try link(old, new)
            return try removeFile(old)
        } catch {
            if !Self.isUnsupported(error) { throw error }
        }
        // Neither call works: object stores behind FUSE. Only here, a file that appears between the two calls may be
        // lost.
        do throws(Errno) {
            _ = try FileStatus(new)
        } catch {
            if error != .noEntry { throw error }
            return try renameReplacing(old, to: new)
        }
        throw .exists
    }

    private static func isUnsupported(_ error: Errno) -> Bool {
        [.invalidArgument, .notSupported, .notImplemented, .notPermitted].contains(error)
    }
}
