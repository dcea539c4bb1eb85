internal import Glibc
internal import Platform

extension DestinationStatus {
    /// Looks at a destination; a directory that is missing is an answer, one that may not be searched an error.
    init(directory: String, name: String?, partialName: String?) throws(FileError) {
        self.init(directory: .missing, isWritable: false, atName: .nothing, atPartialName: .nothing)
        do throws(Errno) {
            let status = try FileStatus(following: directory)
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
            throw FileError(.inspect, directory, errno: error)
        }
        isWritable = mayWrite(toDirectory: directory)
        if let descriptor = try? FileDescriptor(open: directory, flags: O_RDONLY | O_DIRECTORY),
            let room = descriptor.room()
        {
            availableByteCount = room.availableByteCount
            spareByteCount = room.hasFreeInodes ? room.spareByteCount : 0
        }
        if let name { atName = try Occupant(at: directory.appendingComponent(name)) }
        if let partialName { atPartialName = try Occupant(at: directory.appendingComponent(partialName)) }
    }
}

extension Occupant {
    /// What stands at a path, itself and not where it leads.
    init(at path: String) throws(FileError) {
        do throws(Errno) {
            let status = try FileStatus(path: path)
            self =
                switch status.kind {
                case .regular: .regular(status.identity, byteCount: status.byteCount)
                case .directory: .directory
                case .other: .other
                }
        } catch {
            if error != .noEntry { throw FileError(.inspect, path, errno: error) }
            self = .nothing
        }
    }

    /// True when it is that file.
    func isFile(_ identity: FileIdentity) -> Bool {
        if case .regular(identity, _) = self { return true }
        return false
    }
}

extension String {
    /// The path of a name in the directory that this path names.
    func appendingComponent(_ name: String) -> String {
        utf8.last == UInt8(ascii: "/") ? self + name : self + "/" + name
    }

    /// The path of the directory that holds what this path names.
    var parentDirectory: String {
        guard let slash = utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == startIndex ? "/" : String(self[..<slash])
    }
}
