internal import CCurl
internal import Core
internal import Platform

extension EasyHandle {
    /// Creates a handle for one request; every option that matters is set, whatever libcurl's default.
    static func make(for request: TransferRequest, cookies: CookieShare?) throws(CurlError) -> EasyHandle {
        var headers = HeaderList()
        var ownCookies: [String] = []
        for field in request.headerFields {
            // This way libcurl joins them with those of the share in one field (RFC 6265, 5.4).
            if field.name.equalsIgnoringASCIICase("Cookie"), field.isSendable {
                ownCookies.append(field.value)
            } else {
                try headers.append(field)
            }
        }
        // As a plain field: CURLOPT_ACCEPT_ENCODING would enable decoding, even with "identity".
        if !request.headerFields.contains(where: { $0.name.equalsIgnoringASCIICase("Accept-Encoding") }) {
            try headers.append(HeaderField("Accept-Encoding", "identity"))
        }
        let easy = try EasyHandle(headers: headers, cookies: cookies)
        try easy.setConnectionOptions(request)
        try easy.setRequestOptions(request)
        if !ownCookies.isEmpty { try easy.set(CURLOPT_COOKIE, ownCookies.joined(separator: "; ")) }
        // Enables the cookie engine; an empty name means no file.
        if cookies != nil { try easy.set(CURLOPT_COOKIEFILE, "") }
        return easy
    }

    private borrowing func setConnectionOptions(_ request: TransferRequest) throws(CurlError) {
        try set(CURLOPT_NOSIGNAL, 1)
        // Without it, removing a handle waits for a name look-up that runs in a thread.
        try set(CURLOPT_QUICK_EXIT, 1)
        try set(CURLOPT_NOPROGRESS, 1)
        // If unset, libcurl takes the proxy from the environment; if empty, it uses none.
        if !request.usesEnvironmentProxy { try set(CURLOPT_PROXY, "") }
        try set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        try set(CURLOPT_TCP_NODELAY, 1)
        try set(CURLOPT_TCP_KEEPALIVE, 1)
        try set(CURLOPT_BUFFERSIZE, min(max(request.receiveBufferByteCount, 1_024), 10 << 20))
        try set(CURLOPT_SSL_VERIFYPEER, 1)
        try set(CURLOPT_SSL_VERIFYHOST, 2)
        try set(CURLOPT_SSLVERSION, 6)  // CURL_SSLVERSION_TLSv1_2: that or newer
        if let path = CertificateAuthorities.path {
            try set(CURLOPT_CAINFO, path)
            // For proxies that use TLS themselves; not every libcurl has this option.
            if request.usesEnvironmentProxy { try set(CURLOPT_PROXY_CAINFO, path) }
        }

        try set(CURLOPT_FRESH_CONNECT, request.maxIdleSeconds > 0 ? 0 : 1)
        try set(CURLOPT_MAXAGE_CONN, max(request.maxIdleSeconds, 1))
        // 0 would mean libcurl's default of five minutes.
        let connectMilliseconds = min(max(request.connectTimeoutMilliseconds, 1), Self.maxTimeoutMilliseconds)
        try set(CURLOPT_CONNECTTIMEOUT_MS, Int(connectMilliseconds))
        // The owner detects a stall: for libcurl, one byte a second is no stall.
        try set(CURLOPT_LOW_SPEED_TIME, 0)
    }

    private borrowing func setRequestOptions(_ request: TransferRequest) throws(CurlError) {
        try set(CURLOPT_URL, request.url.absoluteString)
        try set(CURLOPT_PROTOCOLS_STR, "http,https")
        // The owner follows redirects: libcurl would send secret fields to the next host.
        try set(CURLOPT_FOLLOWLOCATION, 0)
        try set(CURLOPT_MAXREDIRS, 0)
        try set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https")
        try set(CURLOPT_AUTOREFERER, 0)
        try set(CURLOPT_UNRESTRICTED_AUTH, 0)
        try set(CURLOPT_NETRC, 0)
        // The owner judges every status and its body.
        try set(CURLOPT_FAILONERROR, 0)
        try set(CURLOPT_HTTP_CONTENT_DECODING, 0)
        try set(CURLOPT_HTTP09_ALLOWED, 0)
        // 7.88 leaks and stalls when a paused HTTP/2 transfer is removed.
        try set(CURLOPT_HTTP_VERSION, 2)  // CURL_HTTP_VERSION_1_1
        if let range = request.range {
            // libcurl copies the text into the request as it is.
            guard range.utf8.allSatisfy({ "0123456789-,".utf8.contains($0) }) else {
                throw CurlError(CURLE_BAD_FUNCTION_ARGUMENT, "setopt range")
            }
            try set(CURLOPT_RANGE, range)
        }
        if let userInfo = request.userInfo {
            try set(CURLOPT_HTTPAUTH, 1)  // CURLAUTH_BASIC
            try set(CURLOPT_USERNAME, userInfo.user)
            try set(CURLOPT_PASSWORD, userInfo.password)
        }
    }

    private static let maxTimeoutMilliseconds: Int64 = 24 * 3_600 * 1_000

    /// libcurl's numbers about the transfer so far.
    borrowing func metrics() -> TransferMetrics {
        var metrics = TransferMetrics()
        metrics.statusCode = long(CURLINFO_RESPONSE_CODE)
        metrics.httpVersion =
            switch long(CURLINFO_HTTP_VERSION) {
            case 1: 10
            case 2: 11
            case 3: 20
            default: 0
            }
        metrics.newConnectionCount = long(CURLINFO_NUM_CONNECTS)
        metrics.primaryAddress = string(CURLINFO_PRIMARY_IP) ?? ""
        metrics.nameLookupMicroseconds = offset(CURLINFO_NAMELOOKUP_TIME_T)
        metrics.connectMicroseconds = offset(CURLINFO_CONNECT_TIME_T)
        metrics.tlsMicroseconds = offset(CURLINFO_APPCONNECT_TIME_T)
        metrics.preTransferMicroseconds = offset(CURLINFO_PRETRANSFER_TIME_T)
        metrics.firstByteMicroseconds = offset(CURLINFO_STARTTRANSFER_TIME_T)
        metrics.totalMicroseconds = offset(CURLINFO_TOTAL_TIME_T)
        return metrics
    }
}
