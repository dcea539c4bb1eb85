internal import Core
internal import Glibc
internal import Platform

extension PublishMode {
    /// The highest number in a numbered name.
    package static let numberLimit = 100

    /// The possible names, in order of preference.
    func candidates(_ path: String) -> some Sequence<String> {
        (0...(self == .numbered ? Self.numberLimit : 0)).lazy.map { $0 == 0 ? path : path.numbered($0) }
    }
}

extension Publication {
    /// Gives the file its final name, not yet durable; succeeds if an earlier attempt has already done so.
    func rename() throws(FileError) -> PublishedFile {
        let handle = try file.handle(for: .publish)
        try file.checkUntouched(handle, for: .publish)
        let isNamed = file.isNamed
        if isNamed {
            guard try Occupant(at: place(partialPath)).isFile(file.identity) else { return try alreadyRenamed() }
        } else if mode == .replace {
            // Only a rename can replace a file.
            try file.giveName(partialPath)
        }
        file.stopWatching(handle)
        try setMode(handle)
        for path in mode.candidates(finalPath)
        where try isNamed || mode == .replace ? take(path, handle) : giveName(path) {
            return PublishedFile(path: path, identity: file.identity)
        }
        throw FileError(.publish, finalPath, .exists)
    }

    private func place(_ path: String) throws(FileError) -> FilePlace {
        try file.scope.file(path, for: .publish)
    }

    private func setMode(_ handle: OpenFile.Handle) throws(FileError) {
        do throws(Errno) {
            try handle.descriptor.setMode(fileMode)
        } catch {
            // Some file systems (vfat, CIFS, FUSE) have no modes; the file is still fine.
            if ![.notPermitted, .notSupported, .notImplemented].contains(error) {
                throw FileError(.publish, partialPath, errno: error)
            }
        }
    }

    /// Tries one name as the file's first; false when another file has it.
    private func giveName(_ path: String) throws(FileError) -> Bool {
        do throws(FileError) {
            try file.giveName(path)
            return true
        } catch {
            if error.reason == .exists { return false }
            throw error
        }
    }

    /// Tries one name; false when another file has it.
    private func take(_ path: String, _ handle: OpenFile.Handle) throws(FileError) -> Bool {
        let partial = try place(partialPath)
        let final = try place(path)
        if try Occupant(at: final).isFile(file.identity) {
            // An earlier attempt linked it there and stopped.
            try attempt(.publish, partialPath) { () throws(Errno) in try removeFile(partial.place) }
            return true
        }
        do throws(Errno) {
            if mode == .replace {
                try renameReplacing(partial.place, to: final.place)
            } else {
                try ExclusiveRename.system.run(partial.place, to: final.place)
            }
        } catch {
            if error == .exists { return false }
            throw FileError(.publish, path, errno: error)
        }
        if try Occupant(at: final).isFile(file.identity) { return true }
        switch successor(handle, final.place) {
        case .replacedOurs: return true
        case .unclear: break
        case .tookThePartialsName: try? renameExclusively(final.place, to: partial.place)
        }
        throw FileError(.publish, partialPath, .replaced)
    }

    /// How another file has come to the final name right after our rename to it.
    private enum Successor {
        /// Another process has put its own file in the place of ours.
        case replacedOurs
        /// It had got the partial's name since the check, and was moved in the place of ours.
        case tookThePartialsName
        case unclear
    }

    /// Tells them apart by time: ours has lost its only name now, and a file that is older has not got the partial's name
    /// after that. Both times are of the file system's clock, which ticks in milliseconds.
    private func successor(_ handle: OpenFile.Handle, _ final: Place) -> Successor {
        guard let own = try? handle.descriptor.status(), own.linkCount == 0 else { return .tookThePartialsName }
        guard let other = try? FileDescriptor(open: final, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY),
            let birth = other.birthNanoseconds(), birth != own.changedNanoseconds
        else { return .unclear }
        return birth < own.changedNanoseconds ? .replacedOurs : .tookThePartialsName
    }

    private func alreadyRenamed() throws(FileError) -> PublishedFile {
        for path in mode.candidates(finalPath) where try Occupant(at: place(path)).isFile(file.identity) {
            return PublishedFile(path: path, identity: file.identity)
        }
        // Report a missing directory as such, not as a replaced file.
        let directory = partialPath.parentDirectory
        let found = try file.scope.directory(directory, for: .publish)
        _ = try attempt(.publish, directory) { () throws(Errno) in try FileStatus(following: found.place) }
        throw FileError(.publish, partialPath, .replaced)
    }
}

/// The place of a file that was published before; nil if there is none.
func findPublished(
    _ finalPath: String,
    identity: FileIdentity,
    byteCount: Int64,
    mode: PublishMode,
    in scope: PathScope
) throws(FileError) -> PublishedFile? {
    do throws(FileError) {
        _ = try scope.directory(finalPath.parentDirectory, for: .lookUp)
    } catch {
        if error.errno == .noEntry { return nil }
        throw error
    }
    for path in mode.candidates(finalPath) {
        // Compares the length too: the inode number of a deleted file is reused.
        if case .regular(let found, byteCount) = try Occupant(at: scope.file(path, for: .lookUp)),
            identity.matchesAcrossMounts(found)
        {
            return PublishedFile(path: path, identity: found)
        }
    }
    return nil
}
