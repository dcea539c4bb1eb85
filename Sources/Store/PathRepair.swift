internal import Platform

/// Moves aside what is in the place of one of our files.  Only for a process that is alone in the directory.
enum PathRepair {
    /// Renames to a free name in the same directory; returns it.
    static func setAside(_ path: String) throws(Errno) -> String {
        let target = freeName(for: path)
        try renameReplacing(path, to: target)
        return target
    }

    /// `PATH.damaged-SECONDS`, a name that does not exist.
    static func freeName(for path: String) -> String {
        var seconds = unixMilliseconds() / 1000
        while (try? FileStatus(path: "\(path).damaged-\(seconds)")) != nil { seconds += 1 }
        return "\(path).damaged-\(seconds)"
    }

    /// The length of the file; nil if it does not exist. Other errors are thrown: they do not prove that it does not
    /// exist.
    static func byteCount(_ path: String) throws(Errno) -> Int64? {
        do throws(Errno) {
            return try FileStatus(path: path).byteCount
        } catch {
            if error == .noEntry { return nil }
            throw error
        }
    }

    /// Moves aside what is not a plain file, above all a link: its target is not ours.
    static func setAsideUnlessRegular(_ path: String) throws(Errno) -> String? {
        guard let status = try? FileStatus(path: path), status.kind != .regular else { return nil }
        return try setAside(path)
    }
}
