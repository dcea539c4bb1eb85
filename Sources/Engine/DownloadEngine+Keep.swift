internal import Core
internal import Files
internal import Platform
internal import Store

/// `onChange: keepBoth`: the received bytes of an earlier version of the server's file stay on disk.
extension DownloadEngine {
    /// Leaves the partial where it is and begins another one next to it.
    ///
    /// Nothing is renamed: until the record of the new partial is committed, a crash leaves the old state complete.
    /// Partials are created only with free names, so no file is overwritten.
    func keepHeld(_ download: Download) {
        guard let file = download.partial.file, let path = download.record.path,
            let partialPath = download.record.partialPath
        else { return discardHeld(download) }
        download.record.keptPaths.append(partialPath)
        retire(file, byteCount: download.partial.submitted.ranges.last?.upperBound ?? 0)
        download.partial.file = nil
        download.partial.stage = .closed
        download.record.partial = nil
        download.partialNumber += 1
        download.record.partialPath = partialNames(path)[min(download.partialNumber, Self.maxNumber) - 1]
        uncount(download, keeping: ByteRangeSet())
    }

    /// Cuts the file to its received bytes, syncs it and closes it.
    private func retire(_ file: OpenFile, byteCount: Int64) {
        // After the writes that are on the way to it.
        submit(.truncate(file, to: byteCount)) { [self] _ in
            submit(.syncForFinish(file)) { [self] outcome in
                if case .failure(let error) = outcome { note(.warn, error.downloadFailure.message, nil) }
                close(file)
            }
        }
    }
}
