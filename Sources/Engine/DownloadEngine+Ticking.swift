internal import Core
internal import Curl
internal import Files
internal import Platform
internal import Store

/// What time brings: stalls noticed, checkpoints begun.
extension DownloadEngine {
    /// A buffer leaves for the disk after this long even if it is not full.
    static let flushAgeNanoseconds: Int64 = 1_000_000_000
    static let tickNanoseconds: Int64 = 250_000_000
    /// A tick as late as this tells that the process did not run.
    static let standstillNanoseconds: Int64 = 500_000_000
    /// A checkpoint is due when both have passed since the last.
    ///
    /// Less than the 8 MiB and the 2 s that a power cut may cost: a tick may be 250 ms away, which is 1 MiB where 8 MiB take
    /// 2 s, and of what has come less than 1 MiB is still on its way to the file.
    static let checkpointByteCount: Int64 = 6 << 20
    static let checkpointNanoseconds: Int64 = 1_500_000_000

    /// Keeps the tick going while anything is transferred.
    func startTicking() {
        guard !isTicking else { return }
        isTicking = true
        tickDueAt = now + Self.tickNanoseconds
        timers.add(.tick, due: tickDueAt)
    }

    /// The process stood still (SIGSTOP, a debugger, a suspended virtual machine): what has come meanwhile is still to be
    /// read, so that nobody's silence is counted for that time.
    private func forgiveStandstill() {
        let lateness = now - tickDueAt
        guard lateness >= Self.standstillNanoseconds else { return }
        for download in transferring.values { download.exchange?.lastNewsAt += lateness }
    }

    func tick() {
        isTicking = false
        forgiveStandstill()
        for download in Array(transferring.values) {
            guard let exchange = download.exchange, !hasStalled(download, exchange), exchange.plan != nil else {
                continue
            }
            if now - exchange.lastFlushAt >= Self.flushAgeNanoseconds, exchange.transfer.bufferedByteCount > 0 {
                collectAll(download, exchange)
                pumpPartial(download)
                supplyBuffers(download)
            }
            download.speed.record(nowNanoseconds: now, byteCount: download.transferredByteCount)
            advancedIDs.insert(download.id)
            if download.partial.bytesSinceCheckpoint >= Self.checkpointByteCount,
                now - download.partial.lastCheckpointNanoseconds >= Self.checkpointNanoseconds
            {
                checkpoint(download)
            }
        }
        if !transferring.isEmpty { startTicking() }
    }

    /// Ends a connected transfer that nothing has come from for too long; libcurl's own timer is late by seconds.
    private func hasStalled(_ download: Download, _ exchange: Exchange) -> Bool {
        let limit = Timespan(milliseconds: download.options.stallTimeoutMilliseconds).nanoseconds
        // One that waits for our buffers does not stall, and connecting has a limit of its own.
        guard limit > 0, !exchange.transfer.isPaused, now - exchange.lastNewsAt >= limit,
            exchange.transfer.metrics.preTransferMicroseconds > 0
        else { return false }
        let message = "no data came from \(exchange.url.host):\(exchange.url.port) for \(limit / 1_000_000) ms"
        attemptFailed(download, DownloadFailure(.stalled, message, isRetryable: true))
        return true
    }

    /// Makes what is written durable, beside the flow: first the flush, then the record.
    func checkpoint(_ download: Download) {
        guard let file = download.partial.file, !download.partial.isCheckpointing else { return }
        let written = download.partial.written
        let attempt = download.record.attempt
        download.partial.isCheckpointing = true
        download.partial.bytesSinceCheckpoint = 0
        download.partial.lastCheckpointNanoseconds = now
        submit(.checkpoint(file)) { [self] outcome in
            download.partial.isCheckpointing = false
            guard attempt == download.record.attempt, downloads[download.id] === download else { return }
            switch outcome {
            case .synchronized: noteDurable(download, written)
            case .failed(let error): if download.partial.file === file { flushFailed(download, error) }
            default: note(.error, "unexpected answer to a checkpoint", download)
            }
        }
    }

    private func noteDurable(_ download: Download, _ ranges: ByteRangeSet) {
        download.partial.durable = download.partial.durable.union(ranges)
        download.record.durable = download.partial.durable
        let save = ProgressSave(
            id: download.id,
            attempt: download.record.attempt,
            durable: download.record.durable,
            transferredByteCount: download.transferredByteCount,
            wastedByteCount: download.record.wastedByteCount
        )
        submit(.saveProgress(save)) { [self] outcome in
            if case .failed(let error) = outcome { note(.warn, "cannot save progress: \(error.message)", download) }
        }
    }

    /// A failed flush may have dropped any page since the last good one: only what was durable before counts.
    func flushFailed(_ download: Download, _ error: FileError) {
        countingLosses(of: download) {
            dropExchange(download)
            forget(download, keeping: download.partial.durable)
        }
        // The session file must not go on claiming what may be gone.
        if let file = download.partial.file, let slot = download.partial.slot,
            let record = progressRecord(download, download.partial.durable)
        {
            submit(.mark(file, Mark(sink: store.session, bytes: ProgressSlot.encode(record), slot: slot)))
        }
        diskFailed(download, error)
    }
}
