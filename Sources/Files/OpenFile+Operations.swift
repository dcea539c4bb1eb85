internal import Core
internal import Glibc
internal import Platform

/// Operations of the write lane on an open file.
extension OpenFile {
    /// Writes data, then its mark; returns why the mark failed, if it did.
    ///
    /// This order makes the mark true: after a crash of the process, the bytes it claims are in the kernel.
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

    /// Writes only a mark.
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
            // Some file systems (FAT through FUSE) refuse truncation even when the length stays the same.
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
        // Bytes written by another program must not be taken for received ones.
        try checkUntouched(handle, for: .read)
        return try attempt(.read, path) { () throws(Errno) in
            try handle.descriptor.read(count: Int(range.byteCount), at: range.lowerBound)
        }
    }

    /// Closes descriptor and lock without waiting and without reporting errors, for a quick exit.
    package func abandon() {
        _ = release()
    }

    /// A running flush keeps the descriptor open, but must not keep the lock from the next owner.
    private func release() -> Handle? {
        let handle = takeHandle()
        if let handle { _ = try? handle.descriptor.lock(.none) }
        return handle
    }

    /// Releases the descriptor. If an operation on another lane still uses it, it is closed when that ends.
    func close() throws(FileError) -> FileOutcome {
        guard let handle = release() else { throw FileError(.close, path, errno: .badDescriptor) }
        do throws(Errno) {
            try handle.descriptor.reportCloseError()
        } catch {
            // No descriptor was free for the copy, so the result is unknown; that is no failure of the file.
            if !error.isDescriptorShortage { throw FileError(.close, path, errno: error) }
        }
        return .closed
    }
}
