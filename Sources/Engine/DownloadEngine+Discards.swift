internal import Core
internal import Files
internal import Platform
internal import Store

/// Removing partials that nobody wants any more.
///
/// A canceled download stays its process's until its partial is gone. If the process is killed in between, the record
/// names an owner that is dead, and the next process that opens the state finishes the removal.
extension DownloadEngine {
    /// Removes the partial, open or not, once the record says that nothing of it counts.
    ///
    /// The record keeps its identity: whoever finishes this, or removes the record, removes the file.
    func discardPartial(_ download: Download) {
        guard let path = download.record.partialPath, let identity = download.record.partial else { return }
        download.partial.forgetRanges()
        download.record.durable = ByteRangeSet()
        download.record.written = nil
        download.isDiscarding = true
        discards.insert(download.id)
        discardsPending += 1
        markDirty(download) { [self] isSaved in saved(download, isSaved, path, identity) }
    }

    private func saved(_ download: Download, _ isSaved: Bool, _ path: String, _ identity: FileIdentity) {
        guard isSaved else {
            // It is saved again every second.
            return download.afterSave.append { [self] isSaved in saved(download, isSaved, path, identity) }
        }
        submit(.discard(path: path, identity: identity)) { [self] outcome in
            if case .failed(let error) = outcome { note(.warn, error.downloadFailure.message, download) }
            download.isDiscarding = false
            discardEnded(download.id, isCanceled: download.record.state == .canceled)
        }
    }

    private func discardEnded(_ id: String, isCanceled: Bool) {
        // Unless the id is another download's by now, or this one goes on.
        if discards.remove(id) != nil, isCanceled { submit(.release(id: id)) { _ in } }
        discardsPending -= 1
        guard discardsPending == 0 else { return }
        let waiting = onDiscarded
        onDiscarded = []
        for body in waiting { body() }
    }

    /// Finishes what processes that are dead had still to do for downloads that are over.
    func finishDiscards() {
        let filter = AdoptionFilter(states: [.canceled, .failed, .completed], onlyOfDead: true)
        adoptAll(filter) { [self] adoption in
            guard case .page(let loaded) = adoption else { return }
            for item in loaded {
                discards.insert(item.record.id)
                discardsPending += 1
                finishDiscard(of: item.record)
            }
        }
    }

    private func finishDiscard(of record: DownloadRecord) {
        guard record.state == .canceled, let path = record.partialPath, let identity = record.partial else {
            // It was taken over for a command that never came to anything.
            return discardEnded(record.id, isCanceled: true)
        }
        submit(.discard(path: path, identity: identity)) { [self] _ in discardEnded(record.id, isCanceled: true) }
    }
}
