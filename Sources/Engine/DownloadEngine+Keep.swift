internal import Core
internal import Files
internal import Platform
internal import Store

/// `onChange: keepBoth`: what is held of a version that the server no longer has stays on disk.
extension DownloadEngine {
    /// Leaves the partial where it is and begins another beside it.
    ///
    /// Nothing is renamed: until the record of the new partial is committed, a crash leaves the old state whole. Partials are
    /// only ever made under names that are free, so none overwrites it.
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

    /// Makes a file as long as what is held of it, and that durable; then closes it.
    private func retire(_ file: OpenFile, byteCount: Int64) {
        // Behind the writes that are on their way to it.
        submit(.truncate(file, to: byteCount)) { [self] _ in
            submit(.syncForFinish(file)) { [self] outcome in
                if case .failed(let error) = outcome { note(.warn, error.downloadFailure.message, nil) }
                close(file)
            }
        }
    }
}
