internal import Core
internal import Curl
internal import Files
internal import Platform
internal import Store

/// Body bytes on the way to the file: gathering, writing, marks.
///
/// No byte is passed to the file worker before the record that names the partial and its entity is committed. So a mark
/// is never about a version that the record does not know.
extension DownloadEngine {
    /// Submits a file job; the handler runs in a later turn.
    func submit<Answer>(
        _ request: FileRequest<Answer>,
        volume: VolumeID? = nil,
        then handler: @escaping (Result<Answer, FileError>) -> Void = { _ in }
    ) {
        jobs.submit(request, volume: volume, then: handler)
    }

    /// - Parameter waitMilliseconds: how long to wait for the first result; only used at the end, never in the loop.
    func takeFileResults(waitMilliseconds: Int32 = 0) {
        for answer in jobs.takeFileAnswers(waitMilliseconds: waitMilliseconds) {
            if let buffer = answer.buffer { buffers.give(buffer) }
            answer.handler?(answer.outcome)
        }
    }

    // MARK: - From the transfer

    /// Moves full buffers from the transfer to the partial.
    func collectFull(_ download: Download, _ exchange: Exchange) {
        for buffer in exchange.takeFilledBuffers(fullOnly: true) { gather(download, exchange, buffer) }
    }

    /// Moves all buffers from the transfer to the partial, full or not.
    func collectAll(_ download: Download, _ exchange: Exchange) {
        for buffer in exchange.takeFilledBuffers(fullOnly: false) { gather(download, exchange, buffer) }
    }

    private func gather(_ download: Download, _ exchange: Exchange, _ buffer: IOBuffer) {
        download.partial.gathered.append(
            PartialState.Gathered(buffer: buffer, offset: exchange.nextOffset, exchange: exchange))
        exchange.nextOffset += Int64(buffer.count)
        exchange.lastFlushAt = now
    }

    func dropGathered(_ download: Download) {
        for item in download.partial.gathered {
            item.exchange.bufferCount -= 1
            buffers.give(item.buffer)
        }
        download.partial.gathered.removeAll()
    }

    // MARK: - To the file

    /// Moves gathered bytes towards the disk: names and creates the file, then writes.
    func pumpPartial(_ download: Download) {
        let isWhole = download.bodyEnd.map { if case .complete = $0 { true } else { false } } ?? false
        guard !download.partial.gathered.isEmpty || (isWhole && download.partial.file == nil) else { return }
        switch download.partial.stage {
        case .closed:
            guard download.record.path != nil else { return settleName(download) }
            // If the name of the partial is taken, a whole body is lost with its buffer; this may happen only once.
            let isFirstName = download.partialNumber == 1
            let isSmall = isWhole && isFirstName && isInOneBuffer(download)
            if isSmall { writeWhole(download) } else { createPartial(download) }
        case .opening, .committing, .discarding: return
        case .ready:
            let gathered = download.partial.gathered
            download.partial.gathered.removeAll(keepingCapacity: true)
            for item in gathered { write(download, item) }
        }
    }

    /// True if the whole file is in memory, in one piece.
    private func isInOneBuffer(_ download: Download) -> Bool {
        let partial = download.partial
        return partial.submitted.isEmpty && partial.gathered.count <= 1 && (partial.gathered.first?.offset ?? 0) == 0
    }

    private func write(_ download: Download, _ item: PartialState.Gathered) {
        guard let file = download.partial.file,
            let range = ByteRange(item.offset, item.offset + Int64(item.buffer.count))
        else {
            item.exchange.bufferCount -= 1
            buffers.give(item.buffer)
            return
        }
        download.partial.submitted.insert(range)
        download.partial.writesInFlight += 1
        let attempt = download.record.attempt
        let job = FileRequest.write(file, item.buffer, offset: item.offset, mark: mark(download, file))
        submit(job) { [self] outcome in
            item.exchange.bufferCount -= 1
            download.partial.writesInFlight -= 1
            let isCurrent = attempt == download.record.attempt && download.partial.file === file
            writeEnded(download, range, isCurrent: isCurrent, outcome)
            if downloads[download.id] !== download { returnSlot(download) }
            supplyBuffers(download)
            quieted(download)
            bodyProgressed(download)
        }
    }

    /// The mark for the session file, valid once the kernel has received all writes submitted so far.
    ///
    /// A slot is taken at the first write that does not finish the file.
    private func mark(_ download: Download, _ file: OpenFile) -> Mark? {
        if download.partial.slot == nil {
            if let total = download.record.entity?.totalByteCount, download.partial.submitted.isComplete(total) {
                return nil
            }
            download.partial.slot = slots.take()
        }
        guard let slot = download.partial.slot, let record = progressRecord(download, download.partial.submitted) else {
            return nil
        }
        return Mark(sink: store.session, bytes: ProgressSlot.encode(record), slot: slot)
    }

    /// The bytes of the partial that the kernel has received, with the conditions under which the mark stays valid.
    func progressRecord(_ download: Download, _ ranges: ByteRangeSet) -> ProgressRecord? {
        guard let identity = download.record.partial else { return nil }
        return ProgressRecord(
            downloadID: download.id,
            attempt: download.record.attempt,
            partial: identity,
            bootID: bootID,
            mountID: download.partial.file?.mountID,
            written: ranges
        )
    }

    private func writeEnded(
        _ download: Download, _ range: ByteRange, isCurrent: Bool, _ outcome: Result<Errno?, FileError>
    ) {
        switch outcome {
        case .success(let markError):
            if isCurrent {
                download.partial.written.insert(range)
                download.partial.bytesSinceCheckpoint += range.byteCount
                advancedIDs.insert(download.id)
            }
            if !fullVolumes.isEmpty { volumeTookBytes(download.volume) }
            if let markError { note(.warn, "cannot write a progress mark: \(markError.message)", download) }
        case .failure(let error): if isCurrent { diskFailed(download, error) }
        }
    }

    /// Runs what waits until no bytes of the download are on the way to the disk.
    func quieted(_ download: Download) {
        guard let body = download.onQuiet, download.partial.isQuiet else { return }
        download.onQuiet = nil
        download.quietCount += 1
        body()
    }

    // MARK: - Content of the file

    /// The record changed in a way that marks depend on: nothing is written until it is committed.
    func commitBeforeWriting(_ download: Download) {
        download.partial.stage = .committing
        markDirty(download) { [self] isSaved in committed(download, isSaved: isSaved) }
    }

    func committed(_ download: Download, isSaved: Bool) {
        guard download.partial.stage == .committing, let file = download.partial.file else { return }
        guard isSaved, !download.record.state.isFinal else {
            let failure = DownloadFailure(.storage, "the state could not be saved", isRetryable: true)
            countingLosses(of: download) {
                // The transfer first: its remaining bytes would be written to another file.
                dropExchange(download)
                dropGathered(download)
                closeFile(download)
            }
            if download.partial.heldRanges.isEmpty, unsaved.contains(where: { $0 === download }) {
                discardUnrecorded(download, file)
            }
            if download.record.state == .active { attemptFailed(download, failure) }
            return quieted(download)
        }
        guard file.isNamed else { return giveName(download, file) }
        download.partial.stage = .ready
        pumpPartial(download)
        supplyBuffers(download)
        quieted(download)
        bodyProgressed(download)
    }

    /// The file is in no stored record, and is empty: if the process were killed, nobody would ever delete it.
    private func discardUnrecorded(_ download: Download, _ file: OpenFile) {
        submit(.discard(path: file.path, identity: file.identity))
        download.record.partial = nil
        download.record.written = nil
    }

    /// The received bytes are of another version: discards them, first in the record, then the file.
    func discardHeld(_ download: Download) {
        download.record.wastedByteCount += download.partial.heldRanges.byteCount
        uncount(download, keeping: ByteRangeSet())
        discardFile(download)
    }

    /// Keeps only some of the bytes; if counted bytes are lost, a new attempt begins.
    func uncount(_ download: Download, keeping ranges: ByteRangeSet) {
        countingLosses(of: download) { forget(download, keeping: ranges) }
    }

    /// Keeps only some of the bytes, in memory and in the record.
    func forget(_ download: Download, keeping ranges: ByteRangeSet) {
        dropGathered(download)
        download.partial.wholeByteCountOnItsWay = 0
        download.partial.setRanges(ranges)
        download.partial.durable = download.partial.durable.intersection(ranges)
        download.record.durable = download.partial.durable
        download.record.written = nil
        download.record.isFinalizing = false
        download.record.finished = nil
        if download.partial.stage == .ready { commitBeforeWriting(download) } else { markDirty(download) }
    }

    /// Runs a body that may lose bytes that were counted as received; if it does, the rest begins a new attempt.
    ///
    /// Within one attempt the count never decreases.
    func countingLosses(of download: Download, _ body: () -> Void) {
        let byteCount = download.receivedByteCount
        body()
        guard download.receivedByteCount < byteCount else { return }
        beginAttempt(download)
        markDirty(download)
    }

    /// Begins a new attempt with the bytes that are left.
    func beginAttempt(_ download: Download) {
        let attempt = download.record.attempt.addingSaturated(1)
        download.record.attempt = attempt
        download.isMemoryCounted = false
        download.record.transferredByteCount = 0
        // The marks of the last attempt are valid for this one too.  The value is not read from the record here: that
        // would be a second access to it within the first, which traps.
        download.record.written?.attempt = attempt
    }
}
