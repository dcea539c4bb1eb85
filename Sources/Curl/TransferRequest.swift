package import Core

/// One GET request and its connection options.
package struct TransferRequest: Sendable {
    package var url: ParsedURL
    /// Sent as they are; an `Accept-Encoding` here replaces our `identity`.
    package var headerFields: [HeaderField]
    /// The value after `bytes=` in a Range field, such as `100-199` or `100-`; nil requests the whole file.
    package var range: String?
    /// For Basic authentication; the URL's own userinfo is not used automatically.
    package var userInfo: ParsedURL.UserInfo?
    /// Uses the proxy from `http_proxy` and similar variables, as the curl tool does; otherwise no proxy.
    package var usesEnvironmentProxy: Bool
    /// The time limit from the start until the connection is ready, TLS included.
    package var connectTimeoutMilliseconds: Int64
    /// Idle connections are reused only if last used within this many seconds; 0 reuses none.
    package var maxIdleSeconds: Int
    /// How much libcurl reads from the socket at once, 1 KiB to 10 MiB; fixed for the whole transfer.
    package var receiveBufferByteCount: Int
    /// Helps to tell a compressed file from a compressed response; by default the URL's own path.
    package var codingEvidence: ContentCoding.Evidence
    /// A mark for the owner, such as an index into its tables.
    package var tag: Int

    /// libcurl's default.
    package static let maxIdleSecondsDefault = 118

    package init(
        url: ParsedURL,
        headerFields: [HeaderField] = [],
        range: String? = nil,
        userInfo: ParsedURL.UserInfo? = nil,
        usesEnvironmentProxy: Bool = false,
        connectTimeoutMilliseconds: Int64 = 30_000,
        maxIdleSeconds: Int = TransferRequest.maxIdleSecondsDefault,
        receiveBufferByteCount: Int = 64 * 1024,
        codingEvidence: ContentCoding.Evidence? = nil,
        tag: Int = 0
    ) {
        self.url = url
        self.headerFields = headerFields
        self.range = range
        self.userInfo = userInfo
        self.usesEnvironmentProxy = usesEnvironmentProxy
        self.connectTimeoutMilliseconds = connectTimeoutMilliseconds
        self.maxIdleSeconds = maxIdleSeconds
        self.receiveBufferByteCount = receiveBufferByteCount
        self.codingEvidence = codingEvidence ?? ContentCoding.Evidence(names: [url.path])
        self.tag = tag
    }
}

/// How a transfer ended.
package enum TransferOutcome: Equatable, Sendable {
    /// The response is complete, as far as its framing shows. Says nothing of its status.
    case finished
    /// The transfer failed; the bytes received before are still in the buffers.
    case failed(DownloadFailure)
}

/// libcurl's numbers about a transfer.
///
/// Times are in microseconds since its start; 0 for what has not happened, -1 for unknown.
package struct TransferMetrics: Equatable, Sendable {
    package var statusCode = 0
    /// 10, 11 or 20 as in `ResponseHead`; 0 before the response.
    package var httpVersion = 0
    /// New connections; 0 when an idle one was reused.
    package var newConnectionCount = 0
    /// The peer's address in text form, or empty.
    package var primaryAddress = ""
    package var nameLookupMicroseconds: Int64 = 0
    package var connectMicroseconds: Int64 = 0
    /// When TLS was ready; 0 for plain http.
    package var tlsMicroseconds: Int64 = 0
    /// When the request could be sent.
    package var preTransferMicroseconds: Int64 = 0
    package var firstByteMicroseconds: Int64 = 0
    package var totalMicroseconds: Int64 = 0

    package init() {}
}
