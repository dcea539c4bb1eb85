internal import Core
internal import Glibc
internal import Platform

/// Where system calls find a file, and what messages call it.
struct FilePlace {
    let place: Platform.Place
    let path: String
}

/// Where system calls find a directory, and what messages call it.
struct FileDirectory {
    let place: Platform.Place
    let path: String
    /// Held open where files may not lie anywhere.
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

/// How paths lead to files: by the system's own ways, or, where roots are named, by descriptors that no link leads out of.
///
/// A path is looked up anew for every operation: what a directory was before says nothing.
extension PathScope {
    /// The directory that a path names; `.outsideRoots` when it lies outside, `.noEntry` when it is not there.
    func directory(_ path: String, for operation: FileError.Operation) throws(FileError) -> FileDirectory {
        if isAnywhere { return FileDirectory(place: Place(path: path), path: path, opened: nil) }
        let opened = try open(path, for: operation)
        return FileDirectory(place: Place(directory: opened, name: "."), path: path, opened: opened)
    }

    /// The place of a file that a path names, whose directory must be there where roots are named.
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
            // The file is what the message is about.
            throw FileError(operation, path, error.reason)
        }
        return FilePlace(place: found.place, path: path)
    }

    /// True when a directory lies outside, or a link leads out on the way to it; throws when that cannot be told now.
    ///
    /// A link that leads out is met before whatever is missing, or may not be searched, behind it.
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

    /// Makes what is missing of a directory's path, each directory on the disk before the next; what stands in the way of
    /// one is left for who looks at the directory to tell.
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
    /// The path of a name in the directory that this path names.
    func appendingComponent(_ name: String) -> String {
        utf8.last == UInt8(ascii: "/") ? self + name : self + "/" + name
    }
}
