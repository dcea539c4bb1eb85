internal import Core
internal import Files
internal import Platform
internal import Store

/// Deleting partials that are not needed any more.
///
/// A canceled download keeps its owner until its partial is deleted. If the process is killed in between, the record
/// has a dead owner, and the next process that opens the state completes the deletion.
extension DownloadEngine {
    /// Deletes the partial, open or not, once the saved record counts none of its bytes.
    ///
    /// The record keeps the identity of the file: whoever completes this, or removes the record, deletes the file.
    func discardPartial(_ download: Download) {
        guard let path = download.record.partialPath, let identity = download.record.partial else { return }
        download.partial.forgetRanges()
        download.record.durable = ByteRangeSet()
        download.record.written = nil
        download.isDiscarding = true
        discards.begin(download.id)
        markDirty(download) { [self] isSaved in saved(download, isSaved, path, identity) }
    }

    private func saved(_ download: Download, _ isSaved: Bool, _ path: String, _ identity: FileIdentity) {
        guard isSaved else {
            // The save is repeated every second.
            return download.afterSave.append { [self] isSaved in saved(download, isSaved, path, identity) }
        }
        submit(.discard(path: path, identity: identity)) { [self] outcome in
            if case .failure(let error) = outcome { note(.warn, error.downloadFailure.message, download) }
            download.isDiscarding = false
            discardEnded(download.id, isCanceled: download.record.state == .canceled)
        }
    }

    private func discardEnded(_ id: String, isCanceled: Bool) {
        // Unless the id belongs to another download now, or this one was resumed.
        let (mayRelease, bodies) = discards.end(id)
        if mayRelease, isCanceled { submit(.release(id: id)) { _ in } }
        for body in bodies { body() }
    }

    /// Completes the deletions that dead processes did not complete, for final downloads.
    func finishDiscards() {
        let filter = AdoptionFilter(states: [.canceled, .failed, .completed], onlyOfDead: true)
        adoptAll(filter) { [self] adoption in
            guard case .page(let loaded) = adoption else { return }
            for item in loaded {
                discards.begin(item.record.id)
                finishDiscard(of: item.record)
            }
        }
    }

    private func finishDiscard(of record: DownloadRecord) {
        guard record.state == .canceled, let path = record.partialPath, let identity = record.partial else {
            // It was taken over for a command that was never performed.
            return discardEnded(record.id, isCanceled: true)
        }
        submit(.discard(path: path, identity: identity)) { [self] _ in discardEnded(record.id, isCanceled: true) }
    }
}
