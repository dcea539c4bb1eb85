internal import Core
internal import Glibc
internal import Platform

/// The file at a destination; nil when it is missing or not a regular file.
func examineFile(_ path: String, in scope: PathScope) throws(FileError) -> ExaminedFile? {
    do throws(FileError) {
        let file = try scope.file(path, for: .inspect)
        let status = try attempt(.inspect, path) { () throws(Errno) in try FileStatus(file.place) }
        return status.kind == .regular ? ExaminedFile(status) : nil
    } catch {
        if error.errno == .noEntry { return nil }
        throw error
    }
}

/// Opens an examined file for reading; nil when another file is there now.
func openExamined(_ path: String, _ examined: ExaminedFile, in scope: PathScope) throws(FileError) -> OpenFile? {
    let file = try scope.file(path, for: .open)
    return try attempt(.open, path) { () throws(Errno) -> OpenFile? in
        // O_NONBLOCK: a FIFO that has replaced the file must not block us.
        let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
        let descriptor = try FileDescriptor(open: file.place, flags: flags)
        guard try ExaminedFile(descriptor.status()) == examined else { return nil }
        return try OpenFile(descriptor, path: path, scope: scope)
    }
}

extension ExaminedFile {
    fileprivate init(_ status: FileStatus) {
        self.init(
            identity: status.identity, byteCount: status.byteCount, modifiedNanoseconds: status.modifiedNanoseconds)
    }
}
