package import Core
package import Platform

/// What a process has written to one partial file: survives a kill of the process, but not a power cut.
package struct ProgressRecord: Equatable, Sendable {
    package static let maxDownloadIDByteCount = 64
    package static let maxBootIDByteCount = 40

    package let downloadID: String
    /// The attempt that the marks belong to; marks of another attempt are ignored.
    package var attempt: Int64
    package var partial: FileIdentity
    package var bootID: String
    /// The mount through which the partial was written; nil if the kernel does not report it.
    package var mountID: Int64?
    package var written: ByteRangeSet

    /// Nil if an identifier is empty or too long for a slot.
    package init?(
        downloadID: String,
        attempt: Int64,
        partial: FileIdentity,
        bootID: String,
        mountID: Int64?,
        written: ByteRangeSet
    ) {
        guard (1...Self.maxDownloadIDByteCount).contains(downloadID.utf8.count),
            bootID.utf8.count <= Self.maxBootIDByteCount
        else { return nil }
        self.downloadID = downloadID
        self.attempt = attempt
        self.partial = partial
        self.bootID = bootID
        self.mountID = mountID
        self.written = written
    }

    /// True if bytes that were in the page cache then must still be in the file now.
    ///
    /// Before the caller counts the bytes, one fdatasync of the partial must succeed. Unknown values never match.
    ///
    /// - Parameters:
    ///   - bootID: of this boot.
    ///   - mountID: the mount through which the partial is open now.
    ///   - partial: the identity of the partial that is open now.
    package func holds(bootID: String, mountID: Int64?, partial: FileIdentity) -> Bool {
        guard !bootID.isEmpty, let mountID else { return false }
        return bootID == self.bootID && mountID == self.mountID && partial == self.partial
    }
}
