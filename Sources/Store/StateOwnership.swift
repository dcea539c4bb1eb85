internal import Platform

/// Whether what lies in a state directory can only have come from us.
///
/// Who may write there may plant what we believe: another place for a file, a database that acts, marks of bytes that
/// never came.
enum StateOwnership {
    /// The names in it, besides the files of sessions, that we read and believe.
    private static let names = [
        "state.lock", "towline.db", "towline.db-wal", "towline.db-shm", "towline.db-journal", "sessions",
    ]

    /// Refuses a directory that is another user's, or that others may write to, and files in it likewise.
    static func check(_ path: String) throws(StateDirectoryError) {
        let status: FileStatus
        do throws(Errno) {
            status = try FileStatus(following: path)
        } catch {
            throw StateDirectoryError(path: path, doing: "look at the state directory", error)
        }
        try check(status, "the state directory \(path)", path, matters: true)
        // Modes are of no matter to who may not enter.
        let isReachable = status.mode & 0o011 != 0
        for name in names {
            guard let found = try? FileStatus(path: path + "/" + name) else { continue }
            try check(found, path + "/" + name, path, matters: isReachable)
        }
        for name in (try? directoryEntries(path + "/sessions")) ?? [] {
            let file = path + "/sessions/" + name
            guard let found = try? FileStatus(path: file) else { continue }
            try check(found, file, path, matters: isReachable)
        }
    }

    private static func check(
        _ status: FileStatus, _ what: String, _ path: String, matters: Bool
    ) throws(StateDirectoryError) {
        if status.userID != effectiveUserID() {
            throw StateDirectoryError(
                .notOurs, path: path,
                "\(what) belongs to another user (\(status.userID)); give it to the user that runs this program, or use "
                    + "--state-dir to name another directory")
        }
        // A link has no mode of its own.
        guard matters, status.kind != .symbolicLink else { return }
        let isGroupTrusted = status.mode & 0o020 == 0 || isPrivateGroup(status.groupID)
        guard status.mode & 0o002 != 0 || !isGroupTrusted else { return }
        throw StateDirectoryError(
            .notOurs, path: path,
            "others may write to \(what) (mode \(octal(status.mode & 0o7777))), so what lies there may not be ours; "
                + "take that right away (chmod go-w), or use --state-dir to name another directory")
    }

    private static func octal(_ mode: UInt32) -> String {
        let digits = String(mode, radix: 8)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}
