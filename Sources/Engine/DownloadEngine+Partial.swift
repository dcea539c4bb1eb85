internal import Core
internal import Files
internal import Platform
internal import Store

/// The partial file itself: making it, giving it its name, letting it go.
extension DownloadEngine {
    func createPartial(_ download: Download) {
        guard let path = download.record.partialPath else { return }
        let token = download.partial.beginOpening()
        let total = download.record.entity?.totalByteCount
        let job = FileJob.createPartial(
            path: path, expectedByteCount: total, replacesOrphan: download.mayHaveOrphan)
        submit(job, volume: download.volume) { [self] outcome in
            made(download, token, outcome, isWhole: false)
        }
    }

    /// The whole body sits in one buffer, or is empty: the file is made and written in one go.
    func writeWhole(_ download: Download) {
        guard let path = download.record.partialPath else { return }
        let token = download.partial.beginOpening()
        let item = download.partial.gathered.first
        let buffer = item?.buffer ?? buffers.takeEmpty()
        let byteCount = Int64(buffer.count)
        download.partial.gathered.removeAll()
        download.partial.wholeByteCountOnItsWay = byteCount
        let attempt = download.record.attempt
        let job = FileJob.writeSmall(path: path, buffer, replacesOrphan: download.mayHaveOrphan)
        submit(job, volume: download.volume) { [self] outcome in
            item?.exchange.bufferCount -= 1
            // A new attempt has un-counted the bytes meanwhile.
            if attempt != download.record.attempt { return discardStray(download, token, outcome) }
            countingLosses(of: download) {
                download.partial.wholeByteCountOnItsWay = 0
                if case .opened = outcome { download.partial.setRanges(ByteRangeSet(0, byteCount)) }
            }
            made(download, token, outcome, isWhole: true)
        }
    }

    private func made(_ download: Download, _ token: UInt64, _ outcome: FileOutcome, isWhole: Bool) {
        if token != download.partial.openingToken || download.record.state.isFinal {
            return discardStray(download, token, outcome)
        }
        download.partial.stage = .closed
        switch outcome {
        case .opened(let opened):
            hold(download, opened.file)
            if isWhole || opened.file.reservedByteCount > 0 { volumeTookBytes(opened.file.directoryVolume) }
            if isWhole {
                // What follows is the finish, which commits before the name is given.
                download.partial.stage = .ready
                markDirty(download)
            } else {
                commitBeforeWriting(download)
            }
        case .failed(let error) where error.reason == .exists:
            // The bytes of a whole body went with its buffer: they are asked for again.
            if isWhole { download.bodyEnd = nil }
            partialNameTaken(download, mustAskAgain: isWhole)
        case .failed(let error): diskFailed(download, error)
        default: note(.error, "unexpected answer to making a file", download)
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

    /// The record names the new file: now it may be seen under its name, and then written to.
    func giveName(_ download: Download, _ file: OpenFile) {
        guard let path = download.record.partialPath else { return }
        submit(.name(file, path: path)) { [self] outcome in
            // It may have been closed meanwhile.
            guard download.partial.file === file, download.partial.stage == .committing else { return }
            switch outcome {
            case .named: committed(download, isSaved: true)
            case .failed(let error):
                if error.reason == .exists, takeNextPartialName(download) { return commitBeforeWriting(download) }
                diskFailed(download, error)
            default: note(.error, "unexpected answer to naming a file", download)
            }
            quieted(download)
        }
    }

    /// The partial's name is taken: takes the next one, recorded before it is used.
    private func partialNameTaken(_ download: Download, mustAskAgain: Bool) {
        guard takeNextPartialName(download) else {
            let message = "every name for the partial file is taken"
            return fail(download, DownloadFailure(.destinationConflict, message, isRetryable: false))
        }
        let generation = download.generation
        markDirty(download) { [self] _ in
            guard generation == download.generation else { return }
            if mustAskAgain { connect(download) } else { pumpPartial(download) }
        }
    }

    /// A file that is not ours has the partial's name: takes the next; false when that was the last.
    @discardableResult
    func takeNextPartialName(_ download: Download) -> Bool {
        guard let path = download.record.path, download.partialNumber < Self.maxNumber else { return false }
        download.partialNumber += 1
        download.record.partialPath = partialNames(path)[download.partialNumber - 1]
        return true
    }

    /// A file that was made for a download that has moved on meanwhile.
    private func discardStray(_ download: Download, _ token: UInt64, _ outcome: FileOutcome) {
        if token == download.partial.openingToken { download.partial.stage = .closed }
        if case .opened(let opened) = outcome {
            submit(.discard(path: opened.file.path, identity: opened.file.identity))
            close(opened.file)
        }
        // Bytes of a newer transfer may have waited for this.
        pumpPartial(download)
        quieted(download)
        bodyProgressed(download)
    }

    // MARK: - Letting it go

    /// Closes the file; what is queued for it is written first. What is written stays claimed, to be checked on opening.
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

    /// A file that holds something outlives its descriptor.
    func keepName(_ download: Download, then body: @escaping () -> Void = {}) {
        guard let file = download.partial.file, !file.isNamed, !download.partial.written.isEmpty,
            let path = download.record.partialPath
        else { return body() }
        submit(.name(file, path: path)) { _ in body() }
    }

    /// Closes a file; `afterClosing` tells when that is done.
    func close(_ file: OpenFile) {
        let identity = file.identity
        closing[identity] = closing[identity] ?? []
        submit(.close(file)) { [self] _ in
            for body in closing.removeValue(forKey: identity) ?? [] { body() }
        }
    }

    /// Runs a body when no file of that identity is being closed any more: before, its lock would be in the way.
    func afterClosing(_ identity: FileIdentity?, _ body: @escaping () -> Void) {
        guard let identity, closing[identity] != nil else { return body() }
        closing[identity]?.append(body)
    }

    /// Lets go of an open file whose bytes are of no use; the next bytes go into a new one.
    ///
    /// Never the same file again: whoever knows what it held, by its identity, must not take other bytes for that. The
    /// record, which counts nothing any more, is committed first.
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

    /// Closes the file and gives its slot back.
    func releaseFile(_ download: Download) {
        closeFile(download)
        returnSlot(download)
    }

    /// Gives the slot back of a download that is over, once no write of it can still put its mark there.
    func returnSlot(_ download: Download) {
        guard download.partial.writesInFlight == 0, let slot = download.partial.slot else { return }
        slots.giveBack(slot)
        download.partial.slot = nil
    }
}
