internal import Core
internal import Files
internal import Platform
internal import Store

/// Opening the partial of an earlier run, and which of its bytes can be trusted.
extension DownloadEngine {
    /// The names that a partial of this destination may have, in order of preference.
    func partialNames(_ path: String) -> [String] {
        [path + FileName.partialSuffix] + (2...Self.maxNumber).map { "\(path).\($0)\(FileName.partialSuffix)" }
    }

    /// Opens the partial of an earlier run and finds out which of its bytes can be trusted; then connects.
    func openPartial(_ download: Download) {
        guard let name = download.record.partialPath else { return connect(download) }
        // A partial that was taken over may have been renamed before the record was saved.
        let others = download.record.path.map { partialNames($0).prefix(2).filter { $0 != name } } ?? []
        openPartial(download, named: [name] + others)
    }

    /// - Parameter missing: the error for the name in the record.
    private func openPartial(_ download: Download, named names: [String], missing: FileError? = nil) {
        let token = download.partial.beginOpening()
        let generation = download.generation
        let identity = download.record.partial
        let job = FileRequest.openPartial(path: names[0], expected: identity)
        afterClosing(identity) { [self] in
            submit(job, volume: identity.map { VolumeID($0) }) { [self] outcome in
                if token == download.partial.openingToken { download.partial.stage = .closed }
                if token == download.partial.openingToken, generation == download.generation {
                    let isMissing =
                        if case .failure(let error) = outcome {
                            error.errno == .noEntry || (missing != nil && error.reason == .replaced)
                        } else { false }
                    guard isMissing, case .failure(let error) = outcome else {
                        return partialOpened(download, outcome)
                    }
                    if names.count > 1, identity != nil {
                        return openPartial(download, named: Array(names.dropFirst()), missing: missing ?? error)
                    }
                    partialOpened(download, .failure(missing ?? error))
                } else if case .success(let opened) = outcome {
                    close(opened.file)
                }
                quieted(download)
            }
        }
    }

    private func partialOpened(_ download: Download, _ outcome: Result<OpenedPartial, FileError>) {
        switch outcome {
        case .success(let opened):
            let trusted = trustedRanges(download, opened)
            let isLess = trusted != download.partial.claimed
            // Until the file is open, the recorded bytes count.
            countingLosses(of: download) {
                hold(download, opened.file)
                download.record.partialPath = opened.file.path
                download.partial.stage = .ready
                if isLess {
                    download.lossReason = trusted.isEmpty ? .partialDamaged : nil
                    forget(download, keeping: trusted)
                }
                download.partial.setRanges(trusted)
            }
            // Opening has flushed them.
            download.partial.durable = trusted
            download.record.durable = trusted
            download.record.written = nil
            markDirty(download)
            if trusted.isEmpty {
                discardFile(download)
                connect(download)
            } else {
                reserveRoom(download, opened.file)
            }
        case .failure(let error) where error.errno == .noEntry:
            lookForDirectory(download, error)
        case .failure(let error) where error.reason == .replaced:
            takeNextPartialName(download)
            losePartial(download, .partialDamaged)
        case .failure(let error): diskFailed(download, error)
        }
    }

    /// Reserves space that an earlier run could not, or that another disk does not have, before any byte is requested.
    private func reserveRoom(_ download: Download, _ file: OpenFile) {
        guard let total = download.record.entity?.totalByteCount, total > 0 else { return connect(download) }
        let generation = download.generation
        submit(.reserve(file, byteCount: total)) { [self] outcome in
            guard generation == download.generation else { return }
            if case .failure(let error) = outcome { return diskFailed(download, error) }
            connect(download)
        }
    }

    private func trustedRanges(_ download: Download, _ opened: OpenedPartial) -> ByteRangeSet {
        let file = opened.file
        let ranges =
            opened.pendingError == nil
            ? download.record.trustedRanges(bootID: bootID, mountID: file.mountID, partial: file.identity)
            : download.record.durable
        // A program that punched a hole into it may have changed more.
        let wholeByteCount = min(ranges.contiguousByteCount, opened.byteCount)
        if let end = opened.writtenEnd, end < wholeByteCount { return ByteRangeSet() }
        return ranges.clipped(to: opened.byteCount)
    }

    /// The partial is missing: alone, or with its directory, which may be on a disk that is mounted again later.
    private func lookForDirectory(_ download: Download, _ error: FileError) {
        let (directory, _) = split(.file(path: error.path))
        let generation = download.generation
        submit(.inspect(directory: directory)) { [self] outcome in
            guard generation == download.generation else { return }
            if case .success(let status) = outcome, case .present = status.directory {
                return losePartial(download, .partialMissing)
            }
            diskFailed(download, error)
        }
    }

    private func losePartial(_ download: Download, _ why: TransferOrigin.Why) {
        if !download.partial.claimed.isEmpty {
            download.lossReason = why
            download.record.wastedByteCount += download.partial.claimed.byteCount
        }
        download.record.partial = nil
        uncount(download, keeping: ByteRangeSet())
        connect(download)
    }
}
