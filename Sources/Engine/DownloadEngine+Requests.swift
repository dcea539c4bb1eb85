internal import Core
internal import Curl
internal import Platform
internal import Store

/// From the queue to a sent request: which download is next, what is requested, and from where.
extension DownloadEngine {
    package static let userAgent = "towline/1.0"

    /// Starts the downloads that the queue allows.
    func admitQueued() {
        isAdmissionCut = false
        guard !isSuspended else { return }
        var parkedCount = 0
        while let id = queue.admitNext(
            maxActive: settings.maxActive, maxActivePerHost: settings.maxActivePerHost, now: now)
        {
            guard let download = downloads[id], download.record.state == .queued else {
                queue.leave(id)
                continue
            }
            if waitsForRoom(download) { parkedCount += 1 } else { begin(download) }
            isAdmissionCut = parkedCount == Self.maxMovedCount
            if isAdmissionCut { return }
        }
    }

    /// Puts a download at the end of the queue, or back at an earlier place.
    func enqueue(_ download: Download, place: Int64? = nil) {
        let host = download.source.map { "\($0.scheme.rawValue)://\($0.host):\($0.port)" } ?? ""
        queue.add(download.id, host: host, priority: download.record.priority, place: place)
    }

    /// It has a slot: begins its work.
    func begin(_ download: Download) {
        change(download, to: .active, phase: .connecting)
        download.quirks = RangeQuirks()
        download.parts = PartCounts()
        download.restartCount = 0
        download.hasDiscarded = false
        download.hasAskedEarlierLocation = false
        download.bodyEnd = nil
        if download.record.isFinalizing { return lookForPublished(download) }
        examineExisting(download)
    }

    /// Opens the partial if there is one, else connects at once.
    func openOrConnect(_ download: Download) {
        if download.partial.file == nil, download.record.partial != nil {
            openPartial(download)
        } else {
            connect(download)
        }
    }

    /// Requests the missing bytes from the original URL, because a redirect's target may have expired.
    ///
    /// - Parameter isNextPart: the server sends the file in parts: no phases are reported for each.
    func connect(_ download: Download, isNextPart: Bool = false) {
        // The process is ending: received bytes are kept, nothing more is requested.
        guard !isSuspended else { return }
        // Bytes of the last response may not be written yet. They are part of the received bytes, and only the bytes
        // after them are requested; no other version may overtake them.
        guard download.partial.isQuiet || (download.partial.gathered.isEmpty && download.partial.stage == .ready) else {
            let generation = download.generation
            return whenQuiet(download) { [self] in
                if generation == download.generation { connect(download, isNextPart: isNextPart) }
            }
        }
        guard let source = download.source else {
            let failure = DownloadFailure(.unsupportedUrl, "the recorded URL is not usable", isRetryable: false)
            return fail(download, failure)
        }
        download.look = nil
        var quirks = download.quirks
        if brokenIfRangeOrigins.contains(source.origin) { quirks.isIfRangeBroken = true }
        let plan = ResumePlanner.plan(
            entity: download.record.entity,
            held: download.partial.submitted,
            resumePolicy: download.options.resumePolicy,
            hasChecksum: download.record.checksum != nil,
            quirks: quirks
        )
        switch plan {
        case .nothingMissing: bodyIsComplete(download)
        case .range(let asked): sendFirst(download, to: source, asked: asked, isNextPart: isNextPart)
        case .whole(let why):
            download.quirks.rangesGivenUp = why
            sendFirst(download, to: source, asked: nil, isNextPart: isNextPart)
        }
    }

    func sendFirst(_ download: Download, to source: ParsedURL, asked: RangeRequest?, isNextPart: Bool = false) {
        let range = asked.map { "bytes=\($0.fieldValue)" }
        download.trail.beginAttempt(atUnixMilliseconds: unixMilliseconds(), requestedRange: range)
        if !isNextPart { change(download, phase: .connecting) }
        send(download, to: source, userInfo: download.userInfo, headers: download.headers, hopCount: 0, asked: asked)
    }

    /// Makes one request of a chain and passes it to libcurl.
    func send(
        _ download: Download,
        to url: ParsedURL,
        userInfo: ParsedURL.UserInfo?,
        headers: [HeaderField],
        hopCount: Int,
        asked: RangeRequest?
    ) {
        // After a redirect: the request that ended was not the last one of the attempt.
        download.trail.updateAttempt { $0.endedAtUnixMilliseconds = nil }
        let tag = nextTransferTag
        nextTransferTag += 1
        let request = TransferRequest(
            url: url,
            headerFields: fields(download, headers, asked),
            range: asked?.fieldValue,
            userInfo: userInfo,
            usesEnvironmentProxy: usesEnvironmentProxies,
            connectTimeoutMilliseconds: download.options.connectTimeoutMilliseconds,
            maxIdleSeconds: network.maxIdleSeconds(now: now),
            receiveBufferByteCount: receiveBufferByteCount(),
            codingEvidence: codingEvidence(download, url, hopCount: hopCount),
            tag: tag
        )
        do throws(CurlError) {
            if download.cookies == nil { download.cookies = try CookieShare() }
            let transfer = try Transfer(request, cookies: download.cookies)
            let exchange = Exchange(transfer: transfer, url: url, headers: headers, hopCount: hopCount, asked: asked)
            exchange.lastFlushAt = now
            exchange.lastNewsAt = now
            try session.add(transfer)
            download.exchange = exchange
            download.peers = []
            transferring[tag] = download
            supplyBuffers(download)
            startTicking()
        } catch {
            let failure = DownloadFailure(.internal, "libcurl cannot start: \(error.detail)", isRetryable: true)
            attemptFailed(download, failure)
        }
    }

    /// The names that show whether a compressed body is the file itself: all that the file has, or will have.
    private func codingEvidence(_ download: Download, _ url: ParsedURL, hopCount: Int) -> ContentCoding.Evidence {
        if hopCount == 0 { download.chainNames.removeAll() }
        download.chainNames.append(FileName.suggested(given: nil, urlPath: url.path))
        // The name from an earlier response is valid for a new URL too.
        let names = download.chainNames + [download.record.path, download.record.suggestedFileName].compactMap(\.self)
        return ContentCoding.Evidence(names: names, keepsCoding: download.keepsCoding)
    }

    private func fields(
        _ download: Download, _ headers: [HeaderField], _ asked: RangeRequest?
    ) -> [HeaderField] {
        var fields = headers
        if !headers.contains(where: { $0.name.equalsIgnoringASCIICase("User-Agent") }) {
            fields.append(HeaderField("User-Agent", download.options.userAgent ?? Self.userAgent))
        }
        if let look = download.look { fields += look.file.conditions }
        if let ifRange = asked?.ifRange { fields.append(HeaderField("If-Range", ifRange)) }
        return fields
    }

    /// How much libcurl reads at once: much for few transfers, little for many.
    private func receiveBufferByteCount() -> Int {
        let share = (8 << 20) / max(1, queue.activeCount)
        return min(max(share, 64 << 10), BufferPool.maxReceiveBufferByteCount)
    }

    func follow(_ download: Download, _ exchange: Exchange, _ location: String) {
        do throws(URLError) {
            let target = try URLParser.resolve(location, against: exchange.url)
            let decision = RedirectPolicy.decide(
                from: Origin(exchange.url.origin),
                to: Origin(target.origin),
                hopCount: exchange.hopCount,
                headers: exchange.headers
            )
            switch decision {
            case .follow(let headers):
                // Credentials are sent only to their origin, and not even there after a redirect from another one.
                let isSameOrigin = target.origin == exchange.url.origin
                send(
                    download,
                    to: target,
                    userInfo: isSameOrigin ? exchange.transfer.request.userInfo : nil,
                    headers: headers,
                    hopCount: exchange.hopCount + 1,
                    asked: exchange.asked
                )
            case .denied(let failure): fail(download, failure)
            }
        } catch {
            let message = "the server redirects to a URL that is not usable: \(error.message)"
            fail(download, DownloadFailure(.redirectDenied, message, isRetryable: false))
        }
    }
}
