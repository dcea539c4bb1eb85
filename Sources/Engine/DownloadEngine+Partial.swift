internal import Core
internal import Curl
internal import Files
internal import Platform
internal import Store

/// The partial file itself: its name, making it, opening it again, letting it go.
extension DownloadEngine {
    /// How many numbered names are tried for a file, or for its partial.
    static let maxNumber = 100

    // MARK: - The name

    /// Gives a download without a path its name, from the response; then goes on with what waits for it.
    func settleName(_ download: Download) {
        guard !download.isNaming, let directory = download.record.requestedDirectory else { return }
        download.isNaming = true
        let name = download.record.suggestedFileName ?? FileName.suggested(contentDisposition: nil, urlPath: "")
        tryName(download, directory: directory, name: name, number: 0)
    }

    /// Tries `name`, then `name (1)` and so on where the download may be renamed.
    private func tryName(_ download: Download, directory: String, name: String, number: Int) {
        let candidate = number == 0 ? name : FileName.numbered(name, number)
        submit(.inspect(directory: directory, name: candidate, partialName: candidate + FileName.partialSuffix)) {
            [self] outcome in
            if !isRunning(download) {
                download.isNaming = false
                return quieted(download)
            }
            switch outcome {
            case .inspected(let status): nameInspected(download, directory, name, number, status)
            case .failed(let error):
                download.isNaming = false
                diskFailed(download, error)
            default: download.isNaming = false
            }
        }
    }

    private func nameInspected(
        _ download: Download, _ directory: String, _ name: String, _ number: Int, _ status: DestinationStatus
    ) {
        if case .present(let volume) = status.directory { download.volume = volume }
        let path = joined(directory, number == 0 ? name : FileName.numbered(name, number))
        let mayRename = download.record.ifExists == .rename && number < Self.maxNumber
        switch (status.atName, download.record.ifExists) {
        case (.nothing, _), (.regular, .overwrite): claim(download, directory, name, number, path)
        case (.regular, .skip): skip(download, path: path)
        case _ where mayRename: tryName(download, directory: directory, name: name, number: number + 1)
        default: nameRefused(download, DownloadFailure(.destinationConflict, "\(path) exists", isRetryable: false))
        }
    }

    private func claim(_ download: Download, _ directory: String, _ name: String, _ number: Int, _ path: String) {
        submit(.claimDestination(id: download.id, path: path)) { [self] outcome in
            if download.record.state.isFinal {
                download.isNaming = false
                return quieted(download)
            }
            switch outcome {
            case .saved(let revision):
                download.record.revision = revision
                download.isNaming = false
                download.record.path = path
                download.record.partialPath = path + FileName.partialSuffix
                markDirty(download)
                // Bytes may have come meanwhile, or a pause.
                pumpPartial(download)
                quieted(download)
                bodyProgressed(download)
            case .destinationConflict(let id):
                if download.record.ifExists == .rename, number < Self.maxNumber {
                    return tryName(download, directory: directory, name: name, number: number + 1)
                }
                nameRefused(
                    download,
                    DownloadFailure(.destinationConflict, "the download \(id) holds \(path)", isRetryable: false))
            default:
                nameRefused(download, DownloadFailure(.storage, "the state could not be saved", isRetryable: true))
            }
        }
    }

    private func nameRefused(_ download: Download, _ failure: DownloadFailure) {
        download.isNaming = false
        countingLosses(of: download) {
            dropExchange(download)
            dropGathered(download)
        }
        // It may have been paused without waiting for its name.
        if isRunning(download) {
            if failure.isRetryable { attemptFailed(download, failure) } else { fail(download, failure) }
        }
        quieted(download)
    }

    /// `ifExists: skip` met a file: nothing is to be downloaded.
    private func skip(_ download: Download, path: String) {
        download.isNaming = false
        dropGathered(download)
        stop(download)
        download.record.path = path
        download.record.transfer = TransferOrigin(mode: .unchanged, offset: 0)
        change(download, to: .completed)
        quieted(download)
    }

    /// False once a command or a failure has come between: then what was begun for it leads nowhere.
    func isRunning(_ download: Download) -> Bool {
        switch download.record.state {
        case .active, .waiting, .queued: true
        case .paused, .failed, .completed, .canceled: false
        }
    }

    func joined(_ directory: String, _ name: String) -> String {
        directory.hasSuffix("/") ? directory + name : directory + "/" + name
    }

    // MARK: - Making it

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
            if isWhole || opened.file.reservedByteCount > 0 { volumeTookBytes(opened.file.volume) }
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

    private func hold(_ download: Download, _ file: OpenFile) {
        download.partial.file = file
        download.partial.lastCheckpointNanoseconds = now
        download.partial.bytesSinceCheckpoint = 0
        download.record.partial = file.identity
        download.volume = file.volume
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
    private func takeNextPartialName(_ download: Download) -> Bool {
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

    // MARK: - Opening it again

    /// The names that a partial of that destination may have, in order of preference.
    func partialNames(_ path: String) -> [String] {
        [path + FileName.partialSuffix] + (2...Self.maxNumber).map { "\(path).\($0)\(FileName.partialSuffix)" }
    }

    /// Opens the partial of an earlier run and finds out which of its bytes may be counted on; then connects.
    func openPartial(_ download: Download) {
        guard let name = download.record.partialPath else { return connect(download) }
        // One that was taken over may have been renamed without the record knowing.
        let others = download.record.path.map { partialNames($0).prefix(2).filter { $0 != name } } ?? []
        openPartial(download, named: [name] + others)
    }

    /// - Parameter missing: why the record's own name led nowhere.
    private func openPartial(_ download: Download, named names: [String], missing: FileError? = nil) {
        let token = download.partial.beginOpening()
        let generation = download.generation
        let identity = download.record.partial
        let job = FileJob.openPartial(path: names[0], expected: identity)
        afterClosing(identity) { [self] in
            submit(job, volume: identity.map { VolumeID($0) }) { [self] outcome in
                if token == download.partial.openingToken { download.partial.stage = .closed }
                if token == download.partial.openingToken, generation == download.generation {
                    let isMissing =
                        if case .failed(let error) = outcome {
                            error.errno == .noEntry || (missing != nil && error.reason == .replaced)
                        } else { false }
                    guard isMissing, case .failed(let error) = outcome else {
                        return partialOpened(download, outcome)
                    }
                    if names.count > 1, identity != nil {
                        return openPartial(download, named: Array(names.dropFirst()), missing: missing ?? error)
                    }
                    partialOpened(download, .failed(missing ?? error))
                } else if case .opened(let opened) = outcome {
                    close(opened.file)
                }
                quieted(download)
            }
        }
    }

    private func partialOpened(_ download: Download, _ outcome: FileOutcome) {
        switch outcome {
        case .opened(let opened):
            let trusted = trustedRanges(download, opened)
            let isLess = trusted != download.partial.claimed
            hold(download, opened.file)
            download.record.partialPath = opened.file.path
            download.partial.stage = .ready
            if isLess {
                download.lossReason = trusted.isEmpty ? .partialDamaged : nil
                uncount(download, keeping: trusted)
            }
            download.partial.setRanges(trusted)
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
        case .failed(let error) where error.errno == .noEntry:
            lookForDirectory(download, error)
        case .failed(let error) where error.reason == .replaced:
            takeNextPartialName(download)
            losePartial(download, .partialDamaged)
        case .failed(let error): diskFailed(download, error)
        default: note(.error, "unexpected answer to opening a file", download)
        }
    }

    /// Reserves what an earlier run could not, or another disk has not, before a byte is asked for.
    private func reserveRoom(_ download: Download, _ file: OpenFile) {
        guard let total = download.record.entity?.totalByteCount, total > 0 else { return connect(download) }
        let generation = download.generation
        submit(.reserve(file, byteCount: total)) { [self] outcome in
            guard generation == download.generation else { return }
            if case .failed(let error) = outcome { return diskFailed(download, error) }
            connect(download)
        }
    }

    private func trustedRanges(_ download: Download, _ opened: OpenedPartial) -> ByteRangeSet {
        let file = opened.file
        let ranges =
            opened.pendingError == nil
            ? download.record.trustedRanges(bootID: bootID, mountID: file.mountID, partial: file.identity)
            : download.record.durable
        return ranges.clipped(to: opened.byteCount)
    }

    /// The partial is missing: alone, or with the directory it was in, which may be on a disk that comes back.
    private func lookForDirectory(_ download: Download, _ error: FileError) {
        let (directory, _) = split(.file(path: error.path))
        let generation = download.generation
        submit(.inspect(directory: directory, name: nil, partialName: nil)) { [self] outcome in
            guard generation == download.generation else { return }
            if case .inspected(let status) = outcome, case .present = status.directory {
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
