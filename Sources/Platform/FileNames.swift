internal import CPlatform
internal import Glibc

/// Renames, replacing an existing file.  C: rename(2)
package func renameReplacing(_ oldPath: String, to newPath: String) throws(Errno) {
    try renameReplacing(Place(path: oldPath), to: Place(path: newPath))
}

/// Creates a file that only we can read, unless it exists; throws when it cannot be appended to.  C: open(2)
package func makePrivateFile(_ path: String) throws(Errno) {
    _ = try FileDescriptor(open: path, flags: O_WRONLY | O_CREAT | O_APPEND | O_NOCTTY, mode: 0o600)
}

/// Removes a name.  C: unlink(2)
package func removeFile(_ path: String) throws(Errno) {
    try removeFile(Place(path: path))
}

/// Creates a directory; an existing one is accepted.  C: mkdir(2)
package func makeDirectory(_ path: String, mode: UInt32) throws(Errno) {
    do throws(Errno) {
        _ = try valueOrErrno { unsafe mkdir(path, mode) }
    } catch {
        if error != .exists { throw error }
        if try FileStatus(following: path).kind != .directory { throw .notDirectory }
    }
}

/// Creates a directory and its missing parents, all with one mode.
package func makeDirectories(_ path: String, mode: UInt32) throws(Errno) {
    var end = path.utf8.startIndex
    let bytes = path.utf8
    while end < bytes.endIndex {
        let start = bytes[end...].firstIndex { $0 != UInt8(ascii: "/") } ?? bytes.endIndex
        end = bytes[start...].firstIndex(of: UInt8(ascii: "/")) ?? bytes.endIndex
        if start < end { try makeDirectory(String(path[..<end]), mode: mode) }
    }
}

/// The most bytes of a whole path, the final NUL included.  C: PATH_MAX, limits.h
package let pathByteLimit = Int(PATH_MAX)

/// The most bytes of a name in a directory; nil when the file system does not report it.  C: statvfs(3)
package func nameByteLimit(in directory: String) -> Int? {
    let limit = unsafe cplatform_name_limit(directory)
    return limit > 0 ? Int(limit) : nil
}

/// Sets or removes an environment variable.  Call before the first thread starts.  C: setenv(3), unsetenv(3)
package func setEnvironmentVariable(_ name: String, to value: String?) {
    if let value { _ = unsafe setenv(name, value, 1) } else { _ = unsafe unsetenv(name) }
}

/// The names in a directory except `.` and `..`, in no order.  C: readdir(3)
package func directoryEntries(_ path: String) throws(Errno) -> [String] {
    guard let directory = unsafe opendir(path) else { throw .current }
    defer { _ = unsafe closedir(directory) }
    var names: [String] = []
    while true {
        // Only errno tells the end from an error.
        errno = 0
        guard let entry = unsafe readdir(directory) else {
            if errno != 0 { throw .current }
            return names
        }
        let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
            unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        if name != "." && name != ".." { names.append(name) }
    }
}

/// The working directory.  C: getcwd(3)
package func currentDirectory() throws(Errno) -> String {
    guard let path = unsafe getcwd(nil, 0) else { throw .current }
    defer { unsafe free(path) }
    return unsafe String(cString: path)
}

/// The user whose rights this process has.  C: geteuid(2)
package func effectiveUserID() -> UInt32 { geteuid() }

/// True for a group whose only member is this process's user.  C: getgrgid(3)
package func isPrivateGroup(_ groupID: UInt32) -> Bool { cplatform_is_private_group(groupID) }

/// The process's file mode creation mask.
package func fileModeMask() -> UInt32 { cplatform_umask() }

/// An environment variable; nil when unset.  C: getenv(3)
package func environmentVariable(_ name: String) -> String? {
    guard let value = unsafe getenv(name) else { return nil }
    return unsafe String(cString: value)
}

/// Our home directory in the user database.  C: getpwuid(3)
package func homeDirectoryFromUserDatabase() -> String? {
    guard let entry = unsafe getpwuid(getuid()), let home = unsafe entry.pointee.pw_dir else { return nil }
    return unsafe String(cString: home)
}

/// Reads a small file, at most `limitByteCount` bytes of it.
package func readFile(_ path: String, limitByteCount: Int) throws(Errno) -> [UInt8] {
    let file = try FileDescriptor(open: path, flags: O_RDONLY)
    return try file.read(count: limitByteCount, at: 0)
}
