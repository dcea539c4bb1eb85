package import Core

/// One GET request and how it is carried.
package struct TransferRequest: Sendable {
    package var url: ParsedURL
    /// Sent as they are; an `Accept-Encoding` here replaces our `identity`.
    package var headerFields: [HeaderField]
    /// What follows `bytes=` in a Range field, such as `100-199` or `100-`; nil asks for the whole.
    package var range: String?
    /// For Basic authentication; the URL's own userinfo is not used unless it is put here.
    package var userInfo: ParsedURL.UserInfo?
    /// Goes through the proxy that `http_proxy` and the like name, as the curl tool does; else through none.
    package var usesEnvironmentProxy: Bool
    /// From the start until the connection is ready, TLS included.
    package var connectTimeoutMilliseconds: Int64
    /// Idle connections that have not been used for longer are not used again, in seconds; 0 takes none at all.
    package var maxIdleSeconds: Int
    /// How much libcurl reads from the socket at once, 1 KiB to 10 MiB; fixed for the whole transfer.
    package var receiveBufferByteCount: Int
    /// What tells a compressed file from a compressed answer; the URL's own path unless more is known.
    package var codingEvidence: ContentCoding.Evidence
    /// The owner's own mark, such as an index of its tables.
    package var tag: Int

    /// libcurl's own choice.
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
    /// The response came whole, as far as its framing can tell. Says nothing of its status.
    case finished
    /// It did not; what came before the failure is still in the buffers.
    case failed(DownloadFailure)
}

/// What libcurl knows of a transfer.
///
/// Times are in microseconds since its start; 0 for what has not happened, -1 for what is unknown.
package struct TransferMetrics: Equatable, Sendable {
    package var statusCode = 0
    /// 10, 11 or 20 as in `ResponseHead`; 0 before the response.
    package var httpVersion = 0
    /// Connections that had to be made; 0 when an idle one was used.
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
