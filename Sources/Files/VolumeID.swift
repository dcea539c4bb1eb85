package import Platform

/// A file system, identified by its files' `st_dev`; each has its own worker threads.
///
/// Valid only while the file system stays mounted; never stored.
package struct VolumeID: Hashable, Sendable {
    package var device: UInt64

    package init(device: UInt64) {
        self.device = device
    }

    package init(_ identity: FileIdentity) {
        device = identity.device
    }
}
