internal import CPlatform
internal import Glibc

extension FileDescriptor {
    /// Waits until the file's dirty pages are written out and reports a write-back error that nobody was told of yet.
    ///
    /// No device flush and no metadata: this alone makes nothing durable. After a syncfs(2) it says whether this file's
    /// pages made it: syncfs tells only of errors since the one descriptor that it was given was opened.
    /// Throws `.invalidArgument` or `.illegalSeek` where the file has no such thing.  C: sync_file_range(2)
    package borrowing func waitForWriteback() throws(Errno) {
        _ = try valueOrErrno { cplatform_wait_writeback(raw) }
    }

    /// Reports what a close would (NFS, quota) and leaves the descriptor open: closes a copy of it.  C: close(2)
    package borrowing func reportCloseError() throws(Errno) {
        let copy = FileDescriptor(owning: try valueOrErrno { cplatform_duplicate(raw) })
        try copy.close()
    }

    /// Fills the buffer from an offset and says how many bytes came; fewer than fit only at the end.  C: pread(2)
    package borrowing func read(into buffer: inout [UInt8], at offset: Int64) throws(Errno) -> Int {
        var done = 0
        let size = buffer.count
        while done < size {
            // Safety: the buffer outlives the call and is as long as we say.
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

/// Why so many descriptors more cannot be had, if it is for want of descriptors.  C: dup(2)
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
