internal import Core
internal import Store

/// What the engine uses at one moment: whatever has ended must have given its part back.
package struct ResourceUse: Equatable, Sendable {
    /// Requests on their way.
    package var transfers: Int
    /// Of the pool, in transfers, gathered or on the way to the disk.
    package var buffers: Int
    /// Of the queue.
    package var queueSlots: Int
    package var finishingFiles: Int
    /// Of the session file.
    package var markSlots: Int
    package var openFiles: Int
    package var closingFiles: Int
    /// Of the file workers and the store, not answered yet.
    package var jobs: Int
    /// Downloads in memory, by what they may use.
    package var downloads: Int
    package var activeDownloads: Int
    package var downloadsWithMarkSlot: Int
}

extension DownloadEngine {
    /// What is in use now.
    package var resourceUse: ResourceUse {
        let downloads = downloads.values
        return ResourceUse(
            transfers: transferring.count,
            buffers: buffers.takenCount,
            queueSlots: queue.activeCount,
            finishingFiles: queue.finishingCount,
            markSlots: slots.usedCount,
            openFiles: downloads.count { $0.partial.file != nil },
            closingFiles: closing.count,
            jobs: jobs.pendingCount,
            downloads: downloads.count,
            activeDownloads: downloads.count { $0.record.state == .active },
            downloadsWithMarkSlot: downloads.count { $0.partial.slot != nil }
        )
    }
}
