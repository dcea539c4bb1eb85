package import Platform

/// A file system as its files' `st_dev` names it; what the worker threads are divided by.
///
/// It holds only while the file system stays mounted: never stored.
package struct VolumeID: Hashable, Sendable {
    package var device: UInt64

    package init(device: UInt64) {
        self.device = device
    }

    package init(_ identity: FileIdentity) {
        device = identity.device
    }
}
