internal import Core
internal import Glibc
internal import Platform

/// A file for system calls, and its path for messages.
struct FilePlace {
    let place: Platform.Place
    let path: String
}

/// A directory for system calls, and its path for messages.
struct FileDirectory {
    let place: Platform.Place
    let path: String
    /// Kept open when `--root` limits the paths.
    fileprivate let opened: Directory?

    /// The place of a name in it.
    func file(_ name: String, for operation: FileError.Operation) throws(FileError) -> FilePlace {
        let path = path.appendingComponent(name)
        guard let opened else { return FilePlace(place: Place(path: path), path: path) }
        guard !name.isEmpty, name != ".", name != "..", !name.utf8.contains(UInt8(ascii: "/")) else {
            throw FileError(operation, path, .outsideRoots)
        }
        return FilePlace(place: Place(directory: opened, name: name), path: path)
    }
}

/// Resolves paths: by the system or, with `--root`, by descriptors that no link leads out of.
///
/// A path is resolved again for every operation, because a directory may have been replaced.
extension PathScope {
    /// The directory at a path; `.outsideRoots` when it is outside the roots, `.noEntry` when it does not exist.
    func directory(_ path: String, for operation: FileError.Operation) throws(FileError) -> FileDirectory {
        if isAnywhere { return FileDirectory(place: Place(path: path), path: path, opened: nil) }
        let opened = try open(path, for: operation)
        return FileDirectory(place: Place(directory: opened, name: "."), path: path, opened: opened)
    }

    /// The place of the file at a path; with `--root`, its directory must exist.
    func file(_ path: String, for operation: FileError.Operation) throws(FileError) -> FilePlace {
        if isAnywhere { return FilePlace(place: Place(path: path), path: path) }
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else {
            throw FileError(operation, path, .outsideRoots)
        }
        let name = String(path[path.utf8.index(after: slash)...])
        let found: FilePlace
        do throws(FileError) {
            found = try directory(path.parentDirectory, for: operation).file(name, for: operation)
        } catch {
            // The message must name the file.
            throw FileError(operation, path, error.reason)
        }
        return FilePlace(place: found.place, path: path)
    }

    /// True when a directory is outside the roots, or a link leads out of them; throws when that cannot be decided now.
    ///
    /// A link that leads out is found before anything missing or unsearchable behind it.
    func leadsOut(_ path: String) throws(FileError) -> Bool {
        do throws(FileError) {
            _ = try directory(path, for: .inspect)
            return false
        } catch {
            if error.reason == .outsideRoots { return true }
            if error.downloadFailure.isRetryable { throw error }
            return false
        }
    }

    /// Creates the missing directories of a path, each durable before the next. If something else is in the way,
    /// inspecting the directory will report it.
    func makeDirectories(_ path: String) throws(FileError) {
        do throws(FileError) {
            let found = try directory(path, for: .create).place
            if (try? FileStatus(following: found)) != nil { return }
        } catch {
            if error.errno != .noEntry { throw error }
        }
        let parent = path.parentDirectory
        if parent == path { return }
        try makeDirectories(parent)
        let made = try file(path, for: .create)
        try attempt(.create, path) { () throws(Errno) in
            guard try makeDirectory(made.place) else { return }
            try? FileDescriptor(open: made.place.parent, flags: O_RDONLY | O_DIRECTORY).synchronize()
        }
    }

    private func open(_ path: String, for operation: FileError.Operation) throws(FileError) -> Directory {
        guard let (root, rest) = locate(path) else { throw FileError(operation, path, .outsideRoots) }
        do throws(Errno) {
            return try Directory.open(withoutLinks: root.realPath).open(beneath: rest)
        } catch {
            if error == .crossDevice { throw FileError(operation, path, .outsideRoots) }
            throw FileError(operation, path, errno: error)
        }
    }
}

extension String {
    /// The path of a name in this directory.
    func appendingComponent(_ name: String) -> String {
        utf8.last == UInt8(ascii: "/") ? self + name : self + "/" + name
    }
}
