internal import CPlatform
internal import Glibc

/// An open directory for looking up names, even if its path now leads elsewhere.  Isolation: any thread.
package final class Directory: Sendable {
    /// Opened with O_PATH, which allows only look-ups.
    let descriptor: FileDescriptor

    private init(_ descriptor: consuming FileDescriptor) {
        self.descriptor = descriptor
    }

    /// Opens a directory; `.crossDevice` when a symbolic link is in the path.  C: openat2(2)
    ///
    /// - Parameter path: absolute.
    package static func open(withoutLinks path: String) throws(Errno) -> Directory {
        do throws(Errno) {
            return Directory(try descriptor(AT_FDCWD, path, isBeneath: false))
        } catch {
            if error == .loop { throw .crossDevice }
            guard error == .notImplemented || error == .notPermitted else { throw error }
        }
        return try Directory(name("/", of: AT_FDCWD)).walk(path)
    }

    /// Opens a directory below this one; `.crossDevice` when `..` or a symbolic link leads out of it.  C: openat2(2)
    ///
    /// Where the kernel cannot guarantee that (before Linux 5.6, or in a sandbox), any link in the path fails.
    ///
    /// - Parameter path: relative; empty for this directory.
    package func open(beneath path: String) throws(Errno) -> Directory {
        if path.isEmpty { return self }
        do throws(Errno) {
            return Directory(try Self.descriptor(descriptor.raw, path, isBeneath: true))
        } catch {
            guard error == .notImplemented || error == .notPermitted else { throw error }
        }
        return try walk(path)
    }

    /// How often a look-up is repeated when renames elsewhere disturb it.
    private static let maxTryCount = 1_000

    private static func descriptor(
        _ directory: Int32, _ path: String, isBeneath: Bool
    ) throws(Errno) -> FileDescriptor {
        for _ in 1..<maxTryCount {
            do throws(Errno) {
                return FileDescriptor(
                    owning: try valueOrErrno { unsafe cplatform_open_directory(directory, path, isBeneath) })
            } catch {
                if error != .wouldBlock { throw error }
            }
        }
        throw .wouldBlock
    }

    private static func name(_ name: String, of directory: Int32) throws(Errno) -> FileDescriptor {
        FileDescriptor(owning: try valueOrErrno { unsafe cplatform_open_name(directory, name) })
    }

    /// Opens one name after the other and follows no link.
    private func walk(_ path: String) throws(Errno) -> Directory {
        var directory = self
        for part in path.utf8.split(separator: UInt8(ascii: "/")) {
            let name = String(Substring(part))
            if name == ".." { throw .crossDevice }
            let next = try Self.name(name, of: directory.descriptor.raw)
            switch try next.status().kind {
            case .directory: directory = Directory(next)
            case .symbolicLink: throw .crossDevice
            case .regular, .other: throw .notDirectory
            }
        }
        return directory
    }
}

/// A name for system calls: in an open directory, or as a whole path.
package struct Place: Sendable {
    let directory: Directory?
    let name: String

    /// A path, wherever it leads.
    package init(path: String) {
        directory = nil
        name = path
    }

    /// - Parameter name: one component; `.` for the directory itself.
    package init(directory: Directory, name: String) {
        self.directory = directory
        self.name = name
    }

    /// The directory that contains the name.
    package var parent: Place {
        if let directory { return Place(directory: directory, name: ".") }
        guard let slash = name.utf8.lastIndex(of: UInt8(ascii: "/")) else { return Place(path: ".") }
        return Place(path: slash == name.startIndex ? "/" : String(name[..<slash]))
    }

    /// Calls `body` with the arguments of the `…at` calls; keeps the directory open meanwhile.
    func call<Value: FixedWidthInteger & SignedInteger>(
        _ body: (_ directory: Int32, _ name: UnsafePointer<CChar>) -> Value
    ) throws(Errno) -> Value {
        let directory = directory
        let name = name
        return try valueOrErrno {
            withExtendedLifetime(directory) {
                // Safety: the text exists during the call.
                unsafe name.withCString { unsafe body(directory?.descriptor.raw ?? AT_FDCWD, $0) }
            }
        }
    }
}

/// Renames atomically; fails with `.exists` instead of replacing a file.  C: renameat2(2)
///
/// Throws `.invalidArgument` where the file system does not support this (NFS, some FUSE).
package func renameExclusively(_ old: Place, to new: Place) throws(Errno) {
    try unsafe pair(old, new) { unsafe cplatform_rename_exclusive($0, $1, $2, $3) }
}

/// Renames, replacing an existing file.  C: renameat(2)
package func renameReplacing(_ old: Place, to new: Place) throws(Errno) {
    try unsafe pair(old, new) { unsafe cplatform_rename($0, $1, $2, $3) }
}

/// Gives a file a second name; `.exists` if it is taken.  C: linkat(2)
package func hardLink(_ old: Place, to new: Place) throws(Errno) {
    try unsafe pair(old, new) { unsafe cplatform_link($0, $1, $2, $3) }
}

/// Removes a name.  C: unlinkat(2)
package func removeFile(_ place: Place) throws(Errno) {
    _ = try unsafe place.call { unsafe cplatform_unlink($0, $1) }
}

/// Creates a directory with the permissions that the umask allows; false when the name was taken.  C: mkdirat(2)
package func makeDirectory(_ place: Place) throws(Errno) -> Bool {
    do throws(Errno) {
        _ = try unsafe place.call { unsafe mkdirat($0, $1, 0o777) }
        return true
    } catch {
        if error == .exists { return false }
        throw error
    }
}

/// Throws the reason why this process cannot create and remove names in that directory.  C: faccessat(2)
package func checkWritable(directory place: Place) throws(Errno) {
    _ = try unsafe place.call { unsafe cplatform_may_write($0, $1) }
}

/// False when no rename can move a file to a directory because they are on different mounts; changes nothing.
///
/// Device numbers do not help: on overlayfs a file and its directory have different ones, and two mounts may have the
/// same.
/// C: rename(2), which compares the mounts (EXDEV) before it refuses `.` as a new name (EBUSY)
package func isOneMount(_ file: Place, _ directory: Place) -> Bool {
    let itself = directory.directory == nil ? Place(path: directory.name + "/.") : directory
    do throws(Errno) {
        try renameReplacing(file, to: itself)
        return true
    } catch {
        return error != .crossDevice
    }
}

private func pair(
    _ old: Place, _ new: Place, _ body: (Int32, UnsafePointer<CChar>, Int32, UnsafePointer<CChar>) -> Int32
) throws(Errno) {
    let other = new.directory
    _ = try unsafe old.call { directory, name in
        withExtendedLifetime(other) {
            // Safety: both texts exist during the call.
            unsafe new.name.withCString { unsafe body(directory, name, other?.descriptor.raw ?? AT_FDCWD, $0) }
        }
    }
}

/// The path of a directory with symbolic links resolved; the part that does not exist is kept as it is.
/// C: realpath(3)
///
/// - Parameter path: absolute and normalised.
package func realPath(_ path: String) throws(Errno) -> String {
    var head = path[...]
    while true {
        if let resolved = unsafe realpath(head.isEmpty ? "/" : String(head), nil) {
            defer { unsafe free(resolved) }
            let text = unsafe String(cString: resolved)
            let tail = path[head.endIndex...]
            return text == "/" && !tail.isEmpty ? String(tail) : text + tail
        }
        let error = Errno.current
        guard error == .noEntry, let slash = head.utf8.lastIndex(of: UInt8(ascii: "/")) else { throw error }
        head = head[..<slash]
    }
}
