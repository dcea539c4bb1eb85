internal import Core
internal import Glibc
internal import Platform

extension DestinationStatus {
    /// Inspects a destination. A missing directory is a result; one that cannot be searched is an error.
    init(
        directory path: String, name: String?, partialName: String?, createsDirectories: Bool = false,
        in scope: PathScope
    ) throws(FileError) {
        if createsDirectories {
            do throws(FileError) {
                try scope.makeDirectories(path)
            } catch {
                throw error.errno == .nameTooLong ? FileError(inspecting: error.path, errno: .nameTooLong) : error
            }
        }
        self.init(directory: .missing, isWritable: false, atName: .nothing, atPartialName: .nothing)
        let directory: FileDirectory
        do throws(FileError) {
            directory = try scope.directory(path, for: .inspect)
        } catch {
            if error.errno == .noEntry { return }
            if error.errno == .notDirectory {
                self.directory = .notDirectory
                return
            }
            throw error.errno == .nameTooLong ? FileError(inspecting: path, errno: .nameTooLong) : error
        }
        do throws(Errno) {
            let status = try FileStatus(following: directory.place)
            guard status.kind == .directory else {
                self.directory = .notDirectory
                return
            }
            self.directory = .present(VolumeID(status.identity))
        } catch {
            if error == .noEntry { return }
            if error == .notDirectory {
                self.directory = .notDirectory
                return
            }
            throw FileError(inspecting: path, errno: error)
        }
        do throws(Errno) {
            try checkWritable(directory: directory.place)
            isWritable = true
        } catch {
            isReadOnly = error == .readOnly
        }
        if let descriptor = try? FileDescriptor(open: directory.place, flags: O_RDONLY | O_DIRECTORY),
            let room = descriptor.room()
        {
            availableByteCount = room.availableByteCount
            spareByteCount = room.hasFreeInodes ? room.spareByteCount : 0
        }
        if let name { atName = try Occupant(at: directory.file(name, for: .inspect)) }
        if let partialName { atPartialName = try Occupant(at: directory.file(partialName, for: .inspect)) }
    }
}

extension Occupant {
    /// What is at a path; a symbolic link is not followed.
    init(at file: FilePlace) throws(FileError) {
        do throws(Errno) {
            let status = try FileStatus(file.place)
            self =
                switch status.kind {
                case .regular: .regular(status.identity, byteCount: status.byteCount)
                case .directory: .directory
                case .symbolicLink, .other: .other
                }
        } catch {
            if error != .noEntry { throw FileError(inspecting: file.path, errno: error) }
            self = .nothing
        }
    }

    /// True when it is that file.
    func isFile(_ identity: FileIdentity) -> Bool {
        if case .regular(identity, _) = self { return true }
        return false
    }
}

extension FileError {
    /// A failed inspection of a path; for a path that is too long, with the limit.
    fileprivate init(inspecting path: String, errno: Errno) {
        self.init(.inspect, path, errno: errno)
        guard errno == .nameTooLong else { return }
        guard path.utf8.count < pathByteLimit else {
            reason = .tooLong(.path, maximum: pathByteLimit - 1)
            return
        }
        // A name that is too long cannot exist: use the limit of the nearest existing directory.
        var directory = path.parentDirectory
        while directory != "/", nameByteLimit(in: directory) == nil { directory = directory.parentDirectory }
        if let limit = nameByteLimit(in: directory) { reason = .tooLong(.name, maximum: limit) }
    }
}
