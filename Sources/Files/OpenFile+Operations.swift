internal import Core
internal import Glibc
internal import Platform

/// What the write lane does to an open file.
extension OpenFile {
    /// Writes data, then its mark; returns why the mark failed, if it did.
    ///
    /// The order is what makes a mark true: after a crash of the process, what it claims is with the kernel.
    func write(_ buffer: IOBuffer, at offset: Int64, mark: Mark?) throws(FileError) -> Errno? {
        let handle = try handle(for: .write)
        do throws(FileError) {
            let byteCount = Int64(buffer.count)
            try checkUntouched(handle, for: .write)
            try checkRoom(handle, for: byteCount, endingAt: offset + byteCount)
            try attempt(.write, path) { () throws(Errno) in
                try buffer.withBytes { (bytes) throws(Errno) in try handle.descriptor.write(bytes, at: offset) }
            }
            noteTouched(handle)
        } catch {
            throw poison(error)
        }
        guard let mark else { return nil }
        return try note(mark)
    }

    /// Writes a mark alone.
    func write(_ mark: Mark) throws(FileError) -> FileOutcome {
        try attempt(.write, path) { () throws(Errno) in try mark.sink.write(mark.bytes, slot: mark.slot) }
        return .marked
    }

    func named(_ path: String) throws(FileError) -> FileOutcome {
        try giveName(path)
        return .named
    }

    func reserved(byteCount: Int64) throws(FileError) -> FileOutcome {
        try reserve(byteCount: byteCount)
        return .reserved
    }

    func truncate(to byteCount: Int64, mustBeWhole: Bool) throws(FileError) -> FileOutcome {
        let handle = try handle(for: .truncate)
        do throws(FileError) {
            if mustBeWhole { try checkLength(handle, byteCount: byteCount) }
        } catch {
            throw poison(error)
        }
        try attempt(.truncate, path) { () throws(Errno) in
            // Some file systems (FAT by FUSE) refuse it also where it would change nothing.
            if try handle.descriptor.status().byteCount == byteCount { return }
            try handle.descriptor.truncate(to: byteCount)
        }
        noteTouched(handle)
        limitReserved(to: byteCount)
        return .truncated
    }

    func read(_ range: ByteRange) throws(FileError) -> [UInt8] {
        let handle = try handleEvenIfPoisoned(for: .read)
        guard range.byteCount <= FileWorkers.readLimitByteCount else {
            throw FileError(.read, path, errno: .invalidArgument)
        }
        // What somebody else has put there must not be taken for what came.
        try checkUntouched(handle, for: .read)
        return try attempt(.read, path) { () throws(Errno) in
            try handle.descriptor.read(count: Int(range.byteCount), at: range.lowerBound)
        }
    }

    /// Lets go of descriptor and lock without waiting for anything or telling of errors, for an end in a hurry.
    package func abandon() {
        _ = release()
    }

    /// A flush that still runs keeps the descriptor, but must not keep the next owner off.
    private func release() -> Handle? {
        let handle = takeHandle()
        if let handle { _ = try? handle.descriptor.lock(.none) }
        return handle
    }

    /// Lets go of the descriptor. An operation that runs on another lane may still use it: it closes when that ends.
    func close() throws(FileError) -> FileOutcome {
        guard let handle = release() else { throw FileError(.close, path, errno: .badDescriptor) }
        do throws(Errno) {
            try handle.descriptor.reportCloseError()
        } catch {
            // No descriptor was free for the copy: then there is no telling, which is no failure of the file.
            if !error.isDescriptorShortage { throw FileError(.close, path, errno: error) }
        }
        return .closed
    }
}
