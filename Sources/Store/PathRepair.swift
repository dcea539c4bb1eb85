internal import Platform

/// Moves things aside that stand where a file of ours belongs.  Only for who is alone in the directory.
enum PathRepair {
    /// Renames to a name that nothing has, in the same directory; returns it.
    static func setAside(_ path: String) throws(Errno) -> String {
        let target = freeName(for: path)
        try renameReplacing(path, to: target)
        return target
    }

    /// `PATH.damaged-SECONDS`, of which nothing is there.
    static func freeName(for path: String) -> String {
        var seconds = unixMilliseconds() / 1000
        while (try? FileStatus(path: "\(path).damaged-\(seconds)")) != nil { seconds += 1 }
        return "\(path).damaged-\(seconds)"
    }

    /// The length of what is there; nil for nothing. A look that fails is no proof that nothing is there.
    static func byteCount(_ path: String) throws(Errno) -> Int64? {
        do throws(Errno) {
            return try FileStatus(path: path).byteCount
        } catch {
            if error == .noEntry { return nil }
            throw error
        }
    }

    /// Moves away what is there and no plain file, a link above all: what it leads to is not ours.
    static func setAsideUnlessRegular(_ path: String) throws(Errno) -> String? {
        guard let status = try? FileStatus(path: path), status.kind != .regular else { return nil }
        return try setAside(path)
    }
}
