internal import Core
internal import Curl
internal import Files
internal import Platform
internal import Store

/// From the last body byte to the final name.
///
/// written → synced → digest → finalizing recorded → renamed, directory synced → completed recorded → the event. Every
/// step can be killed and repeated.
extension DownloadEngine {
    /// The transfer has ended, with all promised bytes or not.
    func bodyEnded(_ download: Download, _ exchange: Exchange, _ plan: BodyPlan, _ outcome: TransferOutcome) {
        collectAll(download, exchange)
        recordTimes(download, exchange)
        let receivedByteCount = exchange.nextOffset - plan.firstOffset
        download.parts.lastByteCount = receivedByteCount - plan.overlapByteCount
        dropExchange(download)
        download.bodyEnd = bodyEnd(plan, receivedByteCount, outcome)
        // A part of a file ends where its range ends, whatever follows.
        if exchange.transfer.exceededLength, exchange.transfer.head?.status != 206, case .failed(let failure) = outcome
        {
            download.bodyEnd = .contradiction(failure)
        }
        if exchange.transfer.isUndecodable, download.record.checksum != nil, !download.hasComparedEncoded,
            case .failed(let failure) = outcome
        {
            download.bodyEnd = .undecodable(failure)
        }
        if plan.byteCount == nil, case .finished = outcome {
            // Only the end of the body gives the length; it is recorded with the finish.
            download.record.entity?.totalByteCount = exchange.nextOffset
        }
        pumpPartial(download)
        bodyProgressed(download)
    }

    private func bodyEnd(_ plan: BodyPlan, _ receivedByteCount: Int64, _ outcome: TransferOutcome) -> Download.BodyEnd {
        guard let expected = plan.byteCount else {
            if case .failed(let failure) = outcome { return .failure(failure) }
            return .complete
        }
        // All promised bytes were received: how the connection ended after them does not matter.
        if receivedByteCount == expected { return .complete }
        if case .failed(let failure) = outcome { return .failure(failure) }
        let missing = expected - receivedByteCount
        return .failure(DownloadFailure(.incomplete, "the response ended \(missing) bytes early", isRetryable: true))
    }

    /// Continues after a body has ended, once all its bytes are written.
    func bodyProgressed(_ download: Download) {
        guard let end = download.bodyEnd, download.record.state == .active, download.partial.isQuiet else { return }
        switch end {
        case .failure(let failure):
            download.bodyEnd = nil
            attemptFailed(download, failure)
        case .undecodable(let failure):
            stop(download)
            download.codingFailure = failure
            fetchEncoded(download)
        case .contradiction(let failure):
            // Nothing may be resumed from these bytes: the next response would find nothing missing.
            download.record.wastedByteCount += download.partial.heldRanges.byteCount
            uncount(download, keeping: ByteRangeSet())
            discardPartial(download)
            download.record.entity = nil
            download.bodyEnd = nil
            fail(download, failure)
        case .complete:
            // The file is not created yet, but already requested.
            guard download.partial.file != nil else { return }
            download.bodyEnd = nil
            guard let total = download.record.entity?.totalByteCount, download.partial.written.isComplete(total) else {
                // It was a part of a larger file, or of one with unknown length.
                return askForRest(download)
            }
            bodyIsComplete(download)
        }
    }

    /// The kernel has received every byte: the slot is free, and only work on the disk remains.
    func bodyIsComplete(_ download: Download) {
        queue.finish(download.id)
        guard let file = download.partial.file else {
            // Nothing was ever written: the file is empty.
            download.bodyEnd = .complete
            return pumpPartial(download)
        }
        let total = download.record.entity?.totalByteCount ?? download.partial.written.byteCount
        let generation = download.generation
        change(download, phase: download.record.checksum == nil ? .finalizing : .verifying)
        // The reserved file may be longer than the content.
        submit(.truncate(file, to: total, mustBeWhole: true)) { [self] outcome in
            guard generation == download.generation else { return }
            if case .failure(let error) = outcome { return diskFailed(download, error) }
            synchronize(download, file, total)
        }
    }

    private func synchronize(_ download: Download, _ file: OpenFile, _ total: Int64) {
        let generation = download.generation
        submit(.syncForFinish(file, byteCount: total)) { [self] outcome in
            guard generation == download.generation else { return }
            switch outcome {
            case .success:
                download.partial.durable = ByteRangeSet(0, total)
                download.record.durable = download.partial.durable
                if let checksum = download.record.checksum {
                    verify(download, file, checksum, total)
                } else {
                    recordFinalizing(download, file, total)
                }
            case .failure(let error) where error.reason == .altered: diskFailed(download, error)
            case .failure(let error): flushFailed(download, error)
            }
        }
    }

    func recordFinalizing(_ download: Download, _ file: OpenFile, _ total: Int64) {
        download.record.isFinalizing = true
        download.record.finished = FinishedFile(identity: file.identity, byteCount: total)
        let generation = download.generation
        markDirty(download) { [self] isSaved in
            guard generation == download.generation else { return }
            if isSaved { return publish(download, file) }
            attemptFailed(download, DownloadFailure(.storage, "the state could not be saved", isRetryable: true))
        }
    }

    /// - Parameter mode: nil for the mode of `ifExists`.
    func publish(_ download: Download, _ file: OpenFile, mode: PublishMode? = nil) {
        guard let partialPath = download.record.partialPath, let path = download.record.path else { return }
        download.isPublishing = true
        let publication = Publication(
            file: file,
            partialPath: partialPath,
            finalPath: path,
            mode: mode ?? publishMode(download),
            fileMode: 0o666 & ~fileModeMask
        )
        submit(.publish(publication)) { [self] outcome in
            if mode == nil, download.record.ifExists == .skip, case .failure(let error) = outcome,
                error.reason == .exists
            {
                return replaceOther(download, file, outcome)
            }
            download.record.optionsText = OptionsText.noting(
                fileModifiedNanoseconds: file.finishedNanoseconds, in: download.record.optionsText)
            published(download, outcome)
        }
    }

    private func publishMode(_ download: Download) -> PublishMode {
        switch download.record.ifExists {
        case .error, .skip: .noReplace
        case .overwrite: .replace
        case .rename: .numbered
        }
    }

    func published(_ download: Download, _ outcome: Result<PublishedFile, FileError>) {
        download.isPublishing = false
        switch outcome {
        case .success(let file):
            download.record.path = file.path
            download.record.finished?.identity = file.identity
            download.record.isFinalizing = false
            download.record.failure = nil
            download.record.failureCount = 0
            change(download, to: .completed)
        case .failure(let error) where error.reason == .exists:
            let message = "\(download.record.path ?? "the destination") exists; all bytes are kept in the partial file"
            fail(download, DownloadFailure(.destinationConflict, message, isRetryable: false))
        case .failure(let error): diskFailed(download, error)
        }
        let waiting = download.afterPublishing
        download.afterPublishing.removeAll()
        for body in waiting { body() }
    }

    // MARK: - After a crash

    /// A record says that the rename was next: finds out whether it was done, and otherwise does it now.
    func lookForPublished(_ download: Download) {
        guard let finished = download.record.finished, let path = download.record.path else { return connect(download) }
        let generation = download.generation
        let job = FileRequest.lookForPublished(
            finalPath: path,
            identity: finished.identity,
            byteCount: finished.byteCount,
            mode: publishMode(download)
        )
        submit(job) { [self] outcome in
            guard generation == download.generation else { return }
            switch outcome {
            case .success(let file?): published(download, .success(file))
            case .success(nil):
                // All bytes are durable: opening the partial finds nothing missing and finishes again.
                download.record.isFinalizing = false
                examineExisting(download)
            case .failure(let error): diskFailed(download, error)
            }
        }
    }
}
