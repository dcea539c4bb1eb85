package import Core
package import Platform

/// What a process had handed to the kernel of one partial file: a mark that outlives the process, not a power cut.
package struct ProgressRecord: Equatable, Sendable {
    package static let maxDownloadIDByteCount = 64
    package static let maxBootIDByteCount = 40

    package let downloadID: String
    /// The attempt that the marks belong to; those of another one say nothing.
    package var attempt: Int64
    package var partial: FileIdentity
    package var bootID: String
    /// The mount that the partial was written through; nil where the kernel does not say.
    package var mountID: Int64?
    package var written: ByteRangeSet

    /// Nil when an identifier is empty or too long for a slot.
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

    /// True when what was in the page cache then must still be in the file now.
    ///
    /// The caller still has to see one fdatasync of the partial succeed before it counts the bytes. What the kernel
    /// does not tell never matches.
    ///
    /// - Parameters:
    ///   - bootID: this boot's.
    ///   - mountID: the mount that the partial is open through now.
    ///   - partial: the identity of the partial that is open now.
    package func holds(bootID: String, mountID: Int64?, partial: FileIdentity) -> Bool {
        guard !bootID.isEmpty, let mountID else { return false }
        return bootID == self.bootID && mountID == self.mountID && partial == self.partial
    }
}
