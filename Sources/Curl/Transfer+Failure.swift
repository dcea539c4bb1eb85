internal import CCurl
internal import Core
internal import Glibc
internal import Platform

/// The result of a transfer that libcurl has ended.
extension Transfer {
    /// Why it failed, even if libcurl reports success; nil when it did not fail.
    func failure(
        _ code: CURLcode, _ easy: borrowing EasyHandle, _ metrics: TransferMetrics
    ) -> DownloadFailure? {
        let peer = "\(request.url.host):\(request.url.port)"
        if let abortion { return abortion.failure(peer, wasReused: metrics.newConnectionCount == 0) }
        if code == CURLE_OK { return earlyEnd(peer) }
        let isConnected = metrics.preTransferMicroseconds > 0
        let context = FailureContext(
            peer: peer,
            wasConnected: isConnected,
            wasReused: metrics.newConnectionCount == 0,
            isHeadIncomplete: !recorder.isComplete,
            headerByteCount: recorder.byteCount,
            errorNumber: connectionErrorNumber(code, easy, wasConnected: isConnected),
            errorText: easy.errorText,
            ignoredProxyVariable: ignoredProxyVariable,
            proxyStatus: easy.long(CURLINFO_HTTP_CONNECTCODE),
            isAtProxy: isAtProxy(easy.errorText)
        )
        return DownloadFailure(curlCode: Int(code.rawValue), context: context)
    }

    /// The body is not in the coding that `Content-Encoding` names, and a lost connection is not the cause.
    package var isUndecodable: Bool {
        if case .undecodable = abortion { return true }
        return isStreamCut && framing?.isEndProven ?? false
    }

    /// Why a response is incomplete although libcurl reports success.
    private func earlyEnd(_ peer: String) -> DownloadFailure? {
        func failure(_ what: String) -> DownloadFailure { DownloadFailure(.incomplete, what, isRetryable: true) }
        guard isHeadComplete else { return failure("\(peer) closed the connection within the response header") }
        if decoder == nil, receivedByteCount == bodyByteLimit { return nil }
        let isEndProven = framing?.isEndProven ?? false
        if !isEndProven, tls.isEndMissing {
            // Anyone on the network path may have cut it (RFC 9112, 9.8).
            return failure("\(peer) closed the TLS connection without close_notify")
        }
        // A body without bytes is an empty file if its end is known.
        let isCompressed = decoder.map { !$0.isAtEnd } ?? (compression != nil && !isEndProven)
        isStreamCut = isCompressed
        return isCompressed ? failure("the compressed response of \(peer) ended early") : nil
    }

    /// The compression of the body, if it is to be undone.
    var compression: ContentCoding.Compression? {
        head.flatMap { ContentCoding.compression($0, evidence: request.codingEvidence) }
    }

    private var ignoredProxyVariable: String? {
        request.usesEnvironmentProxy ? nil : ProxyVariables.first(for: request.url.scheme)
    }

    /// True when the failed connection was one to the proxy, as far as is known.
    private func isAtProxy(_ errorText: String) -> Bool {
        guard request.usesEnvironmentProxy else { return false }
        if triedAddresses.contains(where: { $0.port != request.url.port }) { return true }
        // A proxy may use the URL's own port: libcurl's text names the host, without brackets for an IPv6 address.
        let start = "Failed to connect to "
        let host = request.url.host.filter { $0 != "[" && $0 != "]" }
        return errorText.hasPrefix(start) && !errorText.lowercased().hasPrefix("\(start.lowercased())\(host) port")
    }

    /// The errno of the last failed connection attempt. Before a connection, also a shortage of descriptors: libcurl
    /// and its TLS library report that as a failed name look-up, a missing file of authorities, and more.
    private func connectionErrorNumber(_ code: CURLcode, _ easy: borrowing EasyHandle, wasConnected: Bool) -> Int {
        let told = code == CURLE_COULDNT_CONNECT ? easy.long(CURLINFO_OS_ERRNO) : 0
        if wasConnected || told > 0 || code == CURLE_OPERATION_TIMEDOUT { return max(0, told) }
        return descriptorShortage(below: Self.connectionDescriptorCount).map { Int($0.code) } ?? 0
    }

    /// The descriptors that one connection may need at once: three for the name look-up, its own, and a certificate
    /// file.
    private static let connectionDescriptorCount = 5
}
