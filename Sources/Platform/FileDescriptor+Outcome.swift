internal import CPlatform
internal import Glibc

extension FileDescriptor {
    /// Waits until the file's dirty pages are written and reports a write-back error that was not reported yet.
    ///
    /// Does not flush the device or metadata, so it makes nothing durable by itself. After a syncfs(2) it shows whether
    /// this file's pages were written: syncfs reports only errors since its own descriptor was opened.
    /// Throws `.invalidArgument` or `.illegalSeek` for a file that does not support this.  C: sync_file_range(2)
    package borrowing func waitForWriteback() throws(Errno) {
        _ = try valueOrErrno { cplatform_wait_writeback(raw) }
    }

    /// Reports the error a close would (NFS, quota) but leaves the descriptor open: closes a copy of it.  C: close(2)
    package borrowing func reportCloseError() throws(Errno) {
        let copy = FileDescriptor(owning: try valueOrErrno { cplatform_duplicate(raw) })
        try copy.close()
    }

    /// Fills the buffer from an offset and returns how many bytes were read; fewer only at the end of the file.  C:
    /// pread(2)
    package borrowing func read(into buffer: inout [UInt8], at offset: Int64) throws(Errno) -> Int {
        var done = 0
        let size = buffer.count
        while done < size {
            // Safety: the buffer outlives the call, and the size is its own.
            let part = unsafe buffer.withUnsafeMutableBytes { bytes in
                unsafe pread(raw, bytes.baseAddress.map { unsafe $0 + done }, size - done, Int(offset) + done)
            }
            if part < 0 {
                let error = Errno.current
                if error.code == EINTR { continue }
                throw error
            }
            if part == 0 { break }
            done += part
        }
        return done
    }
}

/// The error if this many more descriptors are not available; nil if they are, or if dup(2) fails otherwise.
package func descriptorShortage(below count: Int) -> Errno? {
    var copies: [Int32] = []
    defer { for raw in copies { _ = Glibc.close(raw) } }
    for _ in 0..<count {
        let raw = cplatform_duplicate(2)
        if raw < 0 {
            let error = Errno.current
            return error.isDescriptorShortage ? error : nil
        }
        copies.append(raw)
    }
    return nil
}

extension Errno {
    package static let illegalSeek = Errno(code: ESPIPE)
    package static let notImplemented = Errno(code: ENOSYS)
    package static let noDeviceOrAddress = Errno(code: ENXIO)
}
