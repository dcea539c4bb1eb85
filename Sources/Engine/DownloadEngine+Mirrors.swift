internal import Core
internal import Curl
internal import Platform
internal import Store

/// Redirectors that lead to one of several mirrors with different validators: before bytes are discarded because of
/// another mirror, the mirror that sent them is asked again.
extension DownloadEngine {
    /// Whether the response came from another host than the received bytes.
    func mirror(_ download: Download, _ exchange: Exchange) -> Mirror {
        guard exchange.hopCount > 0, let earlier = earlierLocation(download) else { return .same }
        guard earlier.url.origin != exchange.url.origin else { return .same }
        return download.hasAskedEarlierLocation || !earlier.isUsable ? .other : .otherWithEarlier
    }

    func askEarlierLocation(_ download: Download, _ exchange: Exchange) {
        download.hasAskedEarlierLocation = true
        guard let earlier = earlierLocation(download), earlier.isUsable else { return connect(download) }
        send(
            download, to: earlier.url, userInfo: nil, headers: earlier.headers, hopCount: 1, asked: exchange.asked)
        download.exchange?.isAtEarlierLocation = true
    }

    /// The earlier mirror does not help: requests the original URL again, and accepts its response as it is.
    func leaveEarlierLocation(_ download: Download) {
        dropExchange(download)
        connect(download)
    }

    /// Where the redirects led before: in this process, or according to the record in an earlier one.
    ///
    /// Not usable if a secret had to be left out of the record: then only the host is known.
    private func earlierLocation(
        _ download: Download
    ) -> (url: ParsedURL, headers: [HeaderField], isUsable: Bool)? {
        if let known = download.earlierLocation { return (known.url, known.headers, true) }
        guard let text = download.record.finalURL, let source = download.source,
            let url = try? URLParser.parse(text)
        else { return nil }
        let decision = RedirectPolicy.decide(
            from: Origin(source.origin), to: Origin(url.origin), hopCount: 0, headers: download.headers)
        guard case .follow(let headers) = decision else { return nil }
        return (url, headers, !Redaction.isRedacted(text))
    }
}

extension GateDecision {
    /// True if the received bytes are used.
    var goesOn: Bool {
        switch self {
        case .accept(let plan): !plan.discardsHeld
        case .finishedAlready: true
        case .redirect, .retry, .retryWithoutRange, .retryWithoutIfRange, .retryAtEarlierMirror,
            .remoteChanged, .needsURL, .fail:
            false
        }
    }
}
