internal import Core
internal import Curl
internal import Files
internal import Platform
internal import Store

/// Bytes of a body that were already received, for comparison with the stored ones.  Isolation: the engine.
struct OverlapComparison {
    let plan: BodyPlan
    let head: ResponseHead
    /// The stored bytes; nil until they have been read.
    var heldBytes: [UInt8]?
}

/// A body for which stored bytes are discarded only once this much of it is received.  Isolation: the engine.
struct AwaitedBody {
    let plan: BodyPlan
    let head: ResponseHead
}

/// If only the bytes themselves can show that the server's file is still the same, the end of the stored bytes is
/// downloaded again and compared with the file before the body is accepted.
extension DownloadEngine {
    /// Reads the bytes with which the body must begin; meanwhile the body waits in the transfer's buffer, which is
    /// large enough.
    func beginComparing(_ download: Download, _ exchange: Exchange, _ plan: BodyPlan, _ head: ResponseHead) {
        guard let file = download.partial.file,
            let range = ByteRange(plan.firstOffset, plan.firstOffset + plan.overlapByteCount)
        else { return overlapDiffers(download, exchange) }
        exchange.comparison = OverlapComparison(plan: plan, head: head)
        // After the writes that are on the way to the same place.
        submit(.read(file, range)) { [self] outcome in
            guard download.exchange === exchange, exchange.comparison != nil else { return }
            switch outcome {
            case .success(let bytes):
                exchange.comparison?.heldBytes = bytes
                compareOverlap(download, exchange)
            case .failure(let error): diskFailed(download, error)
            }
        }
    }

    /// Decides once both sides are available.
    func compareOverlap(_ download: Download, _ exchange: Exchange) {
        guard let comparison = exchange.comparison, let heldBytes = comparison.heldBytes else { return }
        let plan = comparison.plan
        guard heldBytes.count == Int(plan.overlapByteCount) else { return overlapDiffers(download, exchange) }
        if exchange.transfer.bufferedByteCount < heldBytes.count {
            // Not enough received yet: either more follows, or the transfer fails like any other.
            if exchange.transfer.isFinished { exchange.comparison = nil }
            return exchange.transfer.isFinished ? endEarly(download, exchange) : supplyBuffers(download)
        }
        guard exchange.transfer.bufferedBytesStart(with: heldBytes) else { return overlapDiffers(download, exchange) }
        exchange.comparison = nil
        download.quirks.comparedEnd = plan.firstOffset + plan.overlapByteCount
        exchange.transfer.dropBufferedBytes(heldBytes.count)
        download.record.wastedByteCount += plan.overlapByteCount
        accept(download, exchange, plan, comparison.head)
        goOn(download, exchange)
    }

    /// Accepts the body once enough of it is received; if it ends before, nothing has changed.
    func awaitBody(_ download: Download, _ exchange: Exchange) {
        guard let awaited = exchange.awaited else { return }
        if Int64(exchange.transfer.bufferedByteCount) < awaited.plan.awaitedByteCount {
            if exchange.transfer.isFinished { exchange.awaited = nil }
            return exchange.transfer.isFinished ? endEarly(download, exchange) : supplyBuffers(download)
        }
        exchange.awaited = nil
        accept(download, exchange, awaited.plan, awaited.head)
        goOn(download, exchange)
    }

    /// The body ended within the bytes to compare.
    private func endEarly(_ download: Download, _ exchange: Exchange) {
        var failure = DownloadFailure(.incomplete, "the response ended early", isRetryable: true)
        if case .failed(let reason)? = exchange.transfer.outcome { failure = reason }
        attemptFailed(download, failure)
    }

    private func overlapDiffers(_ download: Download, _ exchange: Exchange) {
        exchange.comparison = nil
        download.record.wastedByteCount += exchange.transfer.receivedByteCount
        carryOut(ResponseGate.overlapDiffers(gateContext(download, exchange)), download, exchange)
    }
}
