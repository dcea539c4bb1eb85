internal import Core
internal import Files
internal import Platform
internal import Store

/// The partial file: creating, naming, closing.
extension DownloadEngine {
    func createPartial(_ download: Download) {
        guard let path = download.record.partialPath else { return }
        let token = download.partial.beginOpening()
        let total = download.record.entity?.totalByteCount
        let job = FileRequest.createPartial(
            path: path, expectedByteCount: total, replacesOrphan: download.mayHaveOrphan)
        submit(job, volume: download.volume) { [self] outcome in
            made(download, token, outcome, isWhole: false)
        }
    }

    /// The whole body is in one buffer, or is empty: the file is created and written in one job.
    func writeWhole(_ download: Download) {
        guard let path = download.record.partialPath else { return }
        let token = download.partial.beginOpening()
        let item = download.partial.gathered.first
        let buffer = item?.buffer ?? buffers.takeEmpty()
        let byteCount = Int64(buffer.count)
        download.partial.gathered.removeAll()
        download.partial.wholeByteCountOnItsWay = byteCount
        let attempt = download.record.attempt
        let job = FileRequest.writeSmall(path: path, buffer, replacesOrphan: download.mayHaveOrphan)
        submit(job, volume: download.volume) { [self] outcome in
            item?.exchange.bufferCount -= 1
            // A new attempt has discarded the bytes meanwhile.
            if attempt != download.record.attempt { return discardStray(download, token, outcome) }
            countingLosses(of: download) {
                download.partial.wholeByteCountOnItsWay = 0
                if case .success = outcome { download.partial.setRanges(ByteRangeSet(0, byteCount)) }
            }
            made(download, token, outcome, isWhole: true)
        }
    }

    private func made(_ download: Download, _ token: UInt64, _ outcome: Result<OpenedPartial, FileError>, isWhole: Bool)
    {
        if token != download.partial.openingToken || download.record.state.isFinal {
            return discardStray(download, token, outcome)
        }
        download.partial.stage = .closed
        switch outcome {
        case .success(let opened):
            hold(download, opened.file)
            if isWhole || opened.file.reservedByteCount > 0 { volumeTookBytes(opened.file.directoryVolume) }
            if isWhole {
                // The next step is the finish, which commits before the rename.
                download.partial.stage = .ready
                markDirty(download)
            } else {
                commitBeforeWriting(download)
            }
        case .failure(let error) where error.reason == .exists:
            // A whole body is lost with its buffer: it is requested again.
            if isWhole { download.bodyEnd = nil }
            partialNameTaken(download, mustAskAgain: isWhole)
        case .failure(let error): diskFailed(download, error)
        }
        quieted(download)
        bodyProgressed(download)
    }

    func hold(_ download: Download, _ file: OpenFile) {
        download.partial.file = file
        download.partial.lastCheckpointNanoseconds = now
        download.partial.bytesSinceCheckpoint = 0
        download.record.partial = file.identity
        download.volume = file.directoryVolume
    }

    /// The record contains the new file: now it gets its name, and can then be written to.
    func giveName(_ download: Download, _ file: OpenFile) {
        guard let path = download.record.partialPath else { return }
        submit(.name(file, path: path)) { [self] outcome in
            // It may have been closed meanwhile.
            guard download.partial.file === file, download.partial.stage == .committing else { return }
            switch outcome {
            case .success: committed(download, isSaved: true)
            case .failure(let error):
                if error.reason == .exists, takeNextPartialName(download) { return commitBeforeWriting(download) }
                diskFailed(download, error)
            }
            quieted(download)
        }
    }

    /// The name for the partial is taken: uses the next one, which is recorded first.
    private func partialNameTaken(_ download: Download, mustAskAgain: Bool) {
        guard takeNextPartialName(download) else {
            let message = "all names for the partial file are in use"
            return fail(download, DownloadFailure(.destinationConflict, message, isRetryable: false))
        }
        let generation = download.generation
        markDirty(download) { [self] _ in
            guard generation == download.generation else { return }
            if mustAskAgain { connect(download) } else { pumpPartial(download) }
        }
    }

    /// A file that is not ours has the name of the partial: chooses the next; false if there is none left.
    @discardableResult
    func takeNextPartialName(_ download: Download) -> Bool {
        guard let path = download.record.path, download.partialNumber < Self.maxNumber else { return false }
        download.partialNumber += 1
        download.record.partialPath = partialNames(path)[download.partialNumber - 1]
        return true
    }

    /// A file that was created for a download that has changed meanwhile.
    private func discardStray(_ download: Download, _ token: UInt64, _ outcome: Result<OpenedPartial, FileError>) {
        if token == download.partial.openingToken { download.partial.stage = .closed }
        if case .success(let opened) = outcome {
            submit(.discard(path: opened.file.path, identity: opened.file.identity))
            close(opened.file)
        }
        // Bytes of a newer transfer may have waited for this.
        pumpPartial(download)
        quieted(download)
        bodyProgressed(download)
    }

    // MARK: - Closing

    /// Closes the file after its queued writes. The written bytes stay recorded, to be checked on the next opening.
    func closeFile(_ download: Download) {
        guard let file = download.partial.file else { return }
        download.record.written = progressRecord(download, download.partial.written)
        let written = download.partial.written
        keepName(download)
        close(file)
        download.partial.file = nil
        download.partial.stage = .closed
        download.partial.submitted = ByteRangeSet()
        download.partial.claimed = written
    }

    /// Gives an unnamed file with content its name before it is closed.
    func keepName(_ download: Download, then body: @escaping () -> Void = {}) {
        guard let file = download.partial.file, !file.isNamed, !download.partial.written.isEmpty,
            let path = download.record.partialPath
        else { return body() }
        submit(.name(file, path: path)) { _ in body() }
    }

    /// Closes a file; `afterClosing` runs when that is done.
    func close(_ file: OpenFile) {
        let identity = file.identity
        closing[identity] = closing[identity] ?? []
        submit(.close(file)) { [self] _ in
            for body in closing.removeValue(forKey: identity) ?? [] { body() }
        }
    }

    /// Runs a body when no file of this identity is being closed; until then its lock would be in the way.
    func afterClosing(_ identity: FileIdentity?, _ body: @escaping () -> Void) {
        guard let identity, closing[identity] != nil else { return body() }
        closing[identity]?.append(body)
    }

    /// Discards an open file whose bytes are useless; the next bytes are written to a new file.
    ///
    /// The same file is never used again: whoever knows its content by its identity must not find other bytes there.
    /// The record, which counts none of its bytes any more, is committed first.
    func discardFile(_ download: Download) {
        guard let file = download.partial.file else { return }
        closeFile(download)
        download.record.written = nil
        download.partial.stage = .discarding
        markDirty(download) { [self] isSaved in
            guard download.partial.stage == .discarding else { return }
            download.partial.stage = .closed
            if isSaved {
                submit(.discard(path: file.path, identity: file.identity))
                pumpPartial(download)
                supplyBuffers(download)
            } else {
                let failure = DownloadFailure(.storage, "the state could not be saved", isRetryable: true)
                countingLosses(of: download) {
                    dropExchange(download)
                    dropGathered(download)
                }
                if download.record.state == .active { attemptFailed(download, failure) }
            }
            quieted(download)
            bodyProgressed(download)
        }
    }

    /// Closes the file and releases its slot.
    func releaseFile(_ download: Download) {
        closeFile(download)
        returnSlot(download)
    }

    /// Releases the slot of a final download, once no write can still store its mark there.
    func returnSlot(_ download: Download) {
        guard download.partial.writesInFlight == 0, let slot = download.partial.slot else { return }
        slots.giveBack(slot)
        download.partial.slot = nil
    }
}
