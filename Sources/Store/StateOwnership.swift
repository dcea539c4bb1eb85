internal import Platform

/// Checks that only we can have written the content of a state directory.
///
/// Somebody who can write there can plant data that we trust: another destination, a database with active content,
/// marks of bytes that were never received.
enum StateOwnership {
    /// The names in it, besides the files of sessions, that we read and trust.
    private static let names = [
        "state.lock", "towline.db", "towline.db-wal", "towline.db-shm", "towline.db-journal", "sessions",
    ]

    /// Refuses a directory that belongs to another user or that others can write to; the same for files in it.
    static func check(_ path: String) throws(StateDirectoryError) {
        let status: FileStatus
        do throws(Errno) {
            status = try FileStatus(following: path)
        } catch {
            throw StateDirectoryError(path: path, doing: "check the state directory", error)
        }
        try check(status, "the state directory \(path)", path, matters: true)
        // The modes of files do not matter if others cannot enter the directory.
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
                "\(what) belongs to another user (\(status.userID)); change its owner to the user of this program, or use "
                    + "--state-dir to name another directory")
        }
        // A link has no mode of its own.
        guard matters, status.kind != .symbolicLink else { return }
        let isGroupTrusted = status.mode & 0o020 == 0 || isPrivateGroup(status.groupID)
        guard status.mode & 0o002 != 0 || !isGroupTrusted else { return }
        throw StateDirectoryError(
            .notOurs, path: path,
            "others can write to \(what) (mode \(octal(status.mode & 0o7777))), so its content cannot be trusted; "
                + "remove that permission (chmod go-w), or use --state-dir to name another directory")
    }

    private static func octal(_ mode: UInt32) -> String {
        let digits = String(mode, radix: 8)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}
