internal import Core
internal import Curl
internal import Files
internal import Platform
internal import Store

/// Periodic work: finds stalled transfers, begins checkpoints.
extension DownloadEngine {
    /// A buffer is written after this time even if it is not full.
    static let flushAgeNanoseconds: Int64 = 1_000_000_000
    static let tickNanoseconds: Int64 = 250_000_000
    /// A tick that is this late shows that the process did not run.
    static let standstillNanoseconds: Int64 = 500_000_000
    /// A checkpoint is due when both limits are exceeded since the last one.
    ///
    /// They are lower than the 8 MiB and 2 s that a power cut may cost: the next tick may be 250 ms away, which is 1
    /// MiB if 8 MiB take 2 s, and less than 1 MiB of the received bytes is still on the way to the file.
    static let checkpointByteCount: Int64 = 6 << 20
    static let checkpointNanoseconds: Int64 = 1_500_000_000

    /// Keeps the tick running while anything is transferred.
    func startTicking() {
        guard !isTicking else { return }
        isTicking = true
        tickDueAt = now + Self.tickNanoseconds
        timers.add(.tick, due: tickDueAt)
    }

    /// The process did not run (SIGSTOP, a debugger, a suspended virtual machine): bytes that arrived meanwhile are not
    /// read yet, so this time must not count as a stall.
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

    /// Ends a connected transfer that has received nothing for too long; libcurl's own timer is late by seconds.
    private func hasStalled(_ download: Download, _ exchange: Exchange) -> Bool {
        let limit = Timespan(milliseconds: download.options.stallTimeoutMilliseconds).nanoseconds
        // A transfer that waits for our buffers does not stall, and connecting has its own limit.
        guard limit > 0, !exchange.transfer.isPaused, now - exchange.lastNewsAt >= limit,
            exchange.transfer.metrics.preTransferMicroseconds > 0
        else { return false }
        let message = "no data was received from \(exchange.url.host):\(exchange.url.port) for \(limit / 1_000_000) ms"
        attemptFailed(download, DownloadFailure(.stalled, message, isRetryable: true))
        return true
    }

    /// Makes the written bytes durable while the transfer continues: first the flush, then the record.
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
            case .success: noteDurable(download, written)
            case .failure(let error): if download.partial.file === file { flushFailed(download, error) }
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
            if case .failure(let error) = outcome { note(.warn, "cannot save progress: \(error.message)", download) }
        }
    }

    /// A failed flush may have dropped any page since the last good one: only bytes that were durable before count.
    func flushFailed(_ download: Download, _ error: FileError) {
        countingLosses(of: download) {
            dropExchange(download)
            forget(download, keeping: download.partial.durable)
        }
        // The session file must not claim bytes that may be lost.
        if let file = download.partial.file, let slot = download.partial.slot,
            let record = progressRecord(download, download.partial.durable)
        {
            submit(.mark(file, Mark(sink: store.session, bytes: ProgressSlot.encode(record), slot: slot)))
        }
        diskFailed(download, error)
    }
}
