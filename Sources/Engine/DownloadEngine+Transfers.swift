internal import Core
internal import Curl
internal import Platform
internal import Store

/// Responses: the head is checked, the body moves through the buffers.
extension DownloadEngine {
    /// How many origins with unusual behavior are remembered.
    static let maxRememberedOrigins = 1_000

    /// Lets libcurl work, then handles what its callbacks recorded.
    func runTransfers() {
        do throws(CurlError) {
            try session.perform()
        } catch {
            note(.error, "libcurl: \(error.operation): \(error.detail)", nil)
        }
        for transfer in session.takeNews() { noticed(transfer) }
        feedStarving()
    }

    private func noticed(_ transfer: Transfer) {
        guard let download = transferring[transfer.tag], let exchange = download.exchange,
            exchange.transfer === transfer
        else { return }
        exchange.lastNewsAt = now
        if exchange.plan == nil, exchange.comparison == nil, exchange.awaited == nil, let head = transfer.head {
            judge(download, exchange, head)
        }
        // The decision may have dropped or replaced the exchange.
        guard download.exchange === exchange else { return }
        if exchange.comparison != nil { return compareOverlap(download, exchange) }
        if exchange.awaited != nil { return awaitBody(download, exchange) }
        goOn(download, exchange)
    }

    /// Passes on the received part of a body, or ends the exchange.
    func goOn(_ download: Download, _ exchange: Exchange) {
        let transfer = exchange.transfer
        if let plan = exchange.plan {
            advancedIDs.insert(download.id)
            // Checked first, because a body may end in the turn in which it began.
            if isTooLarge(download, exchange) { return }
            if let outcome = transfer.outcome { return bodyEnded(download, exchange, plan, outcome) }
            collectFull(download, exchange)
            pumpPartial(download)
            supplyBuffers(download)
        } else if let outcome = transfer.outcome {
            if exchange.isAtEarlierLocation { return leaveEarlierLocation(download) }
            recordTimes(download, exchange)
            dropExchange(download)
            var failure = DownloadFailure(.protocol, "the server sent no response", isRetryable: true)
            if case .failed(let reason) = outcome { failure = reason }
            attemptFailed(download, failure)
        } else {
            supplyBuffers(download)
        }
    }

    /// Fails a body of unknown length that exceeds the host's limit; the gate checks known lengths.
    private func isTooLarge(_ download: Download, _ exchange: Exchange) -> Bool {
        guard let limit = download.options.maxFileByteCount,
            exchange.nextOffset + Int64(exchange.transfer.bufferedByteCount) > limit
        else { return false }
        fail(download, DownloadFailure(.sizeLimit, "the file is larger than \(limit) bytes", isRetryable: false))
        return true
    }

    /// Lets the gate decide about a response, and carries out the decision.
    private func judge(_ download: Download, _ exchange: Exchange, _ head: ResponseHead) {
        addHop(download, exchange, head)
        download.offlineCount = 0
        if let look = download.look, isJudged(download, exchange, head, look) { return }
        let decision = ResponseGate.decide(gateContext(download, exchange), head)
        if exchange.isAtEarlierLocation, !decision.goesOn { return leaveEarlierLocation(download) }
        guard case .accept(let plan) = decision else { return carryOut(decision, download, exchange) }
        if plan.keepsHeld, download.record.keptPaths.count >= Limits.keptPartialCount {
            return carryOut(.remoteChanged(plan.origin.why ?? .validatorChanged), download, exchange)
        }
        if plan.overlapByteCount > 0 { return beginComparing(download, exchange, plan, head) }
        if plan.awaitedByteCount > 0 {
            exchange.awaited = AwaitedBody(plan: plan, head: head)
            return
        }
        accept(download, exchange, plan, head)
    }

    func gateContext(_ download: Download, _ exchange: Exchange) -> GateContext {
        var context = GateContext(
            entity: download.record.entity,
            // While the server is asked about the file at the destination, the partial is not open yet.
            held: download.look == nil ? download.partial.submitted : download.partial.heldRanges,
            asked: exchange.asked,
            onChange: download.options.onChange,
            resumePolicy: download.options.resumePolicy,
            hasChecksum: download.record.checksum != nil,
            maxFileByteCount: download.options.maxFileByteCount,
            codingEvidence: exchange.transfer.request.codingEvidence,
            nowSeconds: unixMilliseconds() / 1_000,
            restartCount: download.restartCount,
            quirks: download.quirks
        )
        context.mirror = mirror(download, exchange)
        return context
    }

    /// Carries out a decision about a response whose body is not used.
    func carryOut(_ decision: GateDecision, _ download: Download, _ exchange: Exchange) {
        recordTimes(download, exchange)
        dropExchange(download)
        switch decision {
        case .accept: break
        case .redirect(let location): follow(download, exchange, location)
        case .finishedAlready(let proof):
            // The bytes are contiguous from the first one: their end is the end of the file.
            let total = download.record.entity?.totalByteCount ?? download.partial.submitted.byteCount
            download.record.entity?.totalByteCount = total
            // Two responses were needed for this: if the digest is wrong, they were not about the same file.
            download.record.transfer = TransferOrigin(mode: .resumed, offset: total, identity: proof)
            download.record.isLengthVerified = true
            bodyIsComplete(download)
        case .retry(let advice): attemptFailed(download, advice.failure, advice)
        case .retryWithoutRange(let why):
            download.restartCount += 1
            download.quirks.rangesGivenUp = why
            connect(download)
        case .retryWithoutIfRange(let isBroken):
            download.restartCount += 1
            download.quirks.isIfRangeBroken = true
            if isBroken, let source = download.source {
                if brokenIfRangeOrigins.count >= Self.maxRememberedOrigins { brokenIfRangeOrigins.removeAll() }
                brokenIfRangeOrigins.insert(source.origin)
            }
            connect(download)
        case .retryAtEarlierMirror: askEarlierLocation(download, exchange)
        case .remoteChanged(let why):
            let message = "the file on the server is not the one that was partly received (\(why.rawValue))"
            fail(download, DownloadFailure(.remoteChanged, message, isRetryable: false))
        case .needsURL(let failure):
            download.record.failure = failure
            stop(download)
            change(download, to: .waiting, reason: .needsUrl)
        case .fail(let failure): fail(download, failure)
        }
    }

    func accept(_ download: Download, _ exchange: Exchange, _ plan: BodyPlan, _ head: ResponseHead) {
        var plan = plan
        if plan.origin.mode == .fresh, let why = download.lossReason {
            plan.origin = TransferOrigin(mode: .restarted, offset: 0, why: why)
        }
        download.lossReason = nil
        download.isDecoded = plan.isDecoded
        if !download.keepsCoding { download.codingFailure = plan.codingFailure }
        if let byteCount = plan.byteCount {
            // Set before the body is counted: bytes beyond its end are not part of it.
            exchange.transfer.limitBody(to: byteCount)
            learnPartSize(download, exchange, plan, byteCount)
        }
        exchange.plan = plan
        download.earlierLocation =
            exchange.hopCount == 0 ? nil : EarlierLocation(url: exchange.url, headers: exchange.headers)
        exchange.nextOffset = plan.firstOffset + plan.overlapByteCount
        exchange.lastFlushAt = now
        if plan.discardsHeld {
            download.restartCount += 1
            download.hasDiscarded = true
            if plan.keepsHeld { keepHeld(download) } else { discardHeld(download) }
            // The new version may support resuming; only a server that refuses ranges is remembered.
            if plan.origin.why != .rangeIgnored, plan.origin.why != .rangeRejected {
                download.quirks.rangesGivenUp = nil
            }
        }
        download.startByteCount = min(download.startByteCount, download.partial.heldRanges.byteCount)
        let isKnown = download.record.entity == plan.entity && !plan.discardsHeld
        download.record.entity = plan.entity
        download.record.contentType = plan.entity.contentType
        download.record.transfer = plan.origin
        download.record.isLengthVerified = plan.isLengthVerified
        download.record.failure = nil
        download.record.finalURL = exchange.hopCount == 0 ? nil : Redaction.url(exchange.url.absoluteString)
        if download.record.suggestedFileName == nil {
            download.record.suggestedFileName = FileName.suggested(
                given: head.fileName, urlPath: suggestivePath(download, exchange))
        }
        download.trail.updateAttempt { $0.origin = plan.origin }
        if !isKnown, download.partial.stage == .ready { commitBeforeWriting(download) }
        download.speed.record(nowNanoseconds: now, byteCount: download.transferredByteCount)
        change(download, phase: .downloading)
    }

    /// If a server sends few bytes at once, only some of them are compared with the next part of this run, so that most
    /// are new.
    private func learnPartSize(_ download: Download, _ exchange: Exchange, _ plan: BodyPlan, _ byteCount: Int64) {
        let wantedEnd = exchange.asked?.upperBound ?? plan.entity.totalByteCount
        let isCut = wantedEnd.map { plan.firstOffset + byteCount < $0 } ?? true
        if isCut, byteCount > plan.overlapByteCount { download.quirks.maxOverlapByteCount = byteCount / 2 }
    }

    /// The path from which a file name may be taken: that of the redirects' target, unless it contains no name.
    private func suggestivePath(_ download: Download, _ exchange: Exchange) -> String {
        let path = exchange.url.path
        return path.hasSuffix("/") ? download.source?.path ?? path : path
    }

    // MARK: - Buffers

    /// Gives the transfer the buffers that it needs, within its share and the pool.
    func supplyBuffers(_ download: Download) {
        guard let exchange = download.exchange, !exchange.transfer.isFinished else { return }
        var given = 0
        while exchange.transferBufferCount < wantedBufferCount(exchange, given: given),
            exchange.bufferCount < BufferPool.maxBuffersPerTransfer
        {
            guard let buffer = buffers.take() else {
                if !download.isStarving { starving.append(download) }
                download.isStarving = true
                break
            }
            exchange.bufferCount += 1
            exchange.transferBufferCount += 1
            given += 1
            exchange.transfer.give(buffer)
        }
        // Without a new buffer it would only pause again.
        if given > 0 { exchange.transfer.resumeReceiving() }
    }

    /// One at the beginning; once the gate has accepted the body, a spare one if the current one may become full.
    private func wantedBufferCount(_ exchange: Exchange, given: Int) -> Int {
        guard let plan = exchange.plan else { return 1 }
        let fits = BufferPool.bufferByteCount - Transfer.maxPieceByteCount
        let isSmall = plan.byteCount.map { $0 <= Int64(fits) } ?? false
        let paused = exchange.transfer.isPaused && given == 0 ? exchange.transferBufferCount + 1 : 1
        return max(isSmall ? 1 : 2, paused)
    }

    private func feedStarving() {
        let waiting = starving
        starving.removeAll(keepingCapacity: true)
        for download in waiting {
            download.isStarving = false
            supplyBuffers(download)
        }
    }

    /// Removes the exchange from libcurl; bytes that were not collected before are lost.
    func dropExchange(_ download: Download) {
        guard let exchange = download.exchange else { return }
        download.record.transferredByteCount = download.transferredByteCount
        download.trail.updateAttempt { $0.endedAtUnixMilliseconds = unixMilliseconds() }
        download.exchange = nil
        download.peers = exchange.transfer.peers
        transferring[exchange.transfer.tag] = nil
        session.cancel(exchange.transfer)
        for buffer in exchange.takeAllBuffers() { buffers.give(buffer) }
        download.speed.pause()
    }

    // MARK: - The trail

    private func addHop(_ download: Download, _ exchange: Exchange, _ head: ResponseHead) {
        let address = exchange.transfer.metrics.primaryAddress
        download.trail.add(
            Trail.Hop(
                url: Redaction.url(exchange.url.absoluteString),
                status: head.status,
                remoteAddress: address.isEmpty ? nil : address,
                atUnixMilliseconds: unixMilliseconds()
            )
        )
    }

    func recordTimes(_ download: Download, _ exchange: Exchange) {
        let metrics = exchange.transfer.metrics
        func milliseconds(_ microseconds: Int64) -> Int64? { microseconds > 0 ? microseconds / 1_000 : nil }
        download.trail.updateAttempt { attempt in
            attempt.receivedByteCount += exchange.plan == nil ? 0 : exchange.transfer.receivedByteCount
            attempt.nameLookupMilliseconds = milliseconds(metrics.nameLookupMicroseconds)
            attempt.connectMilliseconds = milliseconds(metrics.connectMicroseconds)
            attempt.tlsMilliseconds = milliseconds(metrics.tlsMicroseconds)
            attempt.firstByteMilliseconds = milliseconds(metrics.firstByteMicroseconds)
        }
    }
}

extension Origin {
    init(_ origin: ParsedURL.Origin) {
        self.init(scheme: origin.scheme.rawValue, host: origin.host, port: origin.port)
    }
}
