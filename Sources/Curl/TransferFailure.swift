internal import CCurl
package import Core
internal import Platform

/// Details of a failed transfer besides libcurl's code.
package struct FailureContext: Sendable {
    /// `host:port`, for people.
    package var peer: String
    /// True when a connection was ready for the request, TLS included.
    package var wasConnected: Bool
    /// True when the request went out on a reused connection.
    package var wasReused: Bool
    /// True while the head of the response is still missing or incomplete.
    package var isHeadIncomplete: Bool
    /// Header bytes received, those of interim responses included.
    package var headerByteCount: Int
    /// The errno of the last failed connection attempt; 0 for none.
    package var errorNumber: Int
    /// libcurl's error text; may quote what the server sent.
    package var errorText: String
    /// A variable that names a proxy, when none is to be used; nil when there is none.
    package var ignoredProxyVariable: String?
    /// The proxy's status for a CONNECT request; 0 or less for none.
    package var proxyStatus: Int
    /// True when the failed connection was one to a proxy.
    package var isAtProxy: Bool

    package init(
        peer: String,
        wasConnected: Bool = false,
        wasReused: Bool = false,
        isHeadIncomplete: Bool = true,
        headerByteCount: Int = 0,
        errorNumber: Int = 0,
        errorText: String = "",
        ignoredProxyVariable: String? = nil,
        proxyStatus: Int = 0,
        isAtProxy: Bool = false
    ) {
        self.peer = peer
        self.wasConnected = wasConnected
        self.wasReused = wasReused
        self.isHeadIncomplete = isHeadIncomplete
        self.headerByteCount = headerByteCount
        self.errorNumber = errorNumber
        self.errorText = errorText
        self.ignoredProxyVariable = ignoredProxyVariable
        self.proxyStatus = proxyStatus
        self.isAtProxy = isAtProxy
    }
}

extension FailureContext {
    fileprivate var hasNoDescriptor: Bool { Errno(code: Int32(clamping: errorNumber)).isDescriptorShortage }

    /// libcurl reports an unknown proxy scheme or syntax only in its text.
    fileprivate var isProxyUnknown: Bool { errorText.hasPrefix("Unsupported proxy") }
}

extension DownloadFailure {
    /// The failure for a CURLcode other than 0.
    ///
    /// The message names the host and what happened; it contains libcurl's text only for certificates and TLS.
    package init(curlCode: Int, context: FailureContext) {
        let peer = context.peer
        if context.proxyStatus > 0, !(200...299).contains(context.proxyStatus) {
            self.init(refusedBy: context, curlCode: curlCode)
            return
        }
        let (kind, message, isRetryable): (FailureKind, String, Bool) =
            switch CURLcode(rawValue: UInt32(clamping: curlCode)) {
            case _ where !context.wasConnected && context.hasNoDescriptor:
                (.connect, "could not connect to \(peer)\(Self.reason(context.errorNumber))", true)
            case CURLE_COULDNT_RESOLVE_HOST:
                (.dns, "the name of \(peer) could not be resolved", true)
            case CURLE_COULDNT_CONNECT where context.isProxyUnknown,
                CURLE_COULDNT_RESOLVE_PROXY where context.isProxyUnknown,
                CURLE_NOT_BUILT_IN where context.isProxyUnknown:
                (.proxy, "the proxy for \(peer) has an unsupported URL", false)
            case CURLE_COULDNT_RESOLVE_PROXY, CURLE_PROXY:
                (.proxy, "the proxy for \(peer) could not be used", true)
            case CURLE_COULDNT_CONNECT where context.isAtProxy:
                (.proxy, "could not connect to the proxy for \(peer)\(Self.reason(context.errorNumber))", true)
            case CURLE_COULDNT_CONNECT, CURLE_INTERFACE_FAILED:
                (.connect, "could not connect to \(peer)\(Self.reason(context.errorNumber))", true)
            case CURLE_OPERATION_TIMEDOUT where context.wasConnected:
                (.stalled, "no data arrived from \(peer) for too long", true)
            case CURLE_OPERATION_TIMEDOUT where context.isAtProxy:
                (.timeout, "connecting to the proxy for \(peer) took too long", true)
            case CURLE_OPERATION_TIMEDOUT:
                (.timeout, "connecting to \(peer) took too long", true)
            case CURLE_PARTIAL_FILE:
                (.incomplete, "\(peer) closed the connection before the end of the data", true)
            case CURLE_GOT_NOTHING:
                (.incomplete, "\(peer) closed the connection without an answer", true)
            case CURLE_OUT_OF_MEMORY where context.isHeadIncomplete && context.wasConnected:
                // 7.88 reports a header line that is too long as "out of memory".
                (.headersTooLarge, "the response header of \(peer) is too large", false)
            case CURLE_RECV_ERROR where context.isHeadIncomplete && HeadRecorder.isNearLimit(context.headerByteCount):
                // 7.88 reports too many header lines as a receive error.
                (.headersTooLarge, "the response header of \(peer) is too large", false)
            case CURLE_RECV_ERROR where context.errorText.hasSuffix("in chunked-encoding"):
                // libcurl reports a broken chunk only in its text.
                (.protocol, "\(peer) sent a body whose chunks are not valid HTTP", true)
            case CURLE_SSL_CONNECT_ERROR where TLSRefusal.isFinal(context.errorText),
                CURLE_SEND_ERROR where context.headerByteCount == 0 && TLSRefusal.isAlert(context.errorText),
                CURLE_RECV_ERROR where context.headerByteCount == 0 && TLSRefusal.isAlert(context.errorText):
                (.tls, "\(peer) refused a secure connection\(Self.quoted(context.errorText))", false)
            case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_SSL_SHUTDOWN_FAILED, CURLE_AGAIN:
                (.incomplete, "the connection to \(peer) was lost", true)
            case CURLE_PEER_FAILED_VERIFICATION where TLSRefusal.isExpiryAlert(context.errorText):
                (.tls, "\(peer) refused a secure connection: alert certificate expired", false)
            case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_PINNEDPUBKEYNOTMATCH,
                CURLE_SSL_INVALIDCERTSTATUS:
                (.tlsCertificate, "the certificate of \(peer) was refused\(Self.quoted(context.errorText))", false)
            case CURLE_SSL_CONNECT_ERROR:
                (.tls, "no secure connection to \(peer) could be made\(Self.quoted(context.errorText))", true)
            case CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CRL_BADFILE,
                CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_ENGINE_INITFAILED,
                CURLE_USE_SSL_FAILED, CURLE_SSL_CLIENTCERT:
                (.tls, "TLS cannot be used for \(peer)\(Self.quoted(context.errorText))", false)
            case CURLE_URL_MALFORMAT:
                (.unsupportedUrl, "the URL of \(peer) is malformed", false)
            case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL, CURLE_BAD_CONTENT_ENCODING,
                CURLE_HTTP_RETURNED_ERROR:
                // On a reused connection the bytes may be left over from an earlier response; libcurl has closed it,
                // and a new connection will show.
                (
                    .protocol, "\(peer) answered with something that is not valid HTTP",
                    context.wasReused && context.isHeadIncomplete
                )
            case CURLE_BAD_FUNCTION_ARGUMENT where context.wasConnected:
                // 7.88 reports a header or trailer line without a name and a value with this code.
                (
                    .protocol, "\(peer) sent a header line that is not valid HTTP",
                    context.wasReused || !context.isHeadIncomplete
                )
            case CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_HTTP3, CURLE_QUIC_CONNECT_ERROR:
                (.protocol, "\(peer) broke the HTTP protocol", true)
            case CURLE_FILESIZE_EXCEEDED:
                (.sizeLimit, "the file at \(peer) is larger than allowed", false)
            case CURLE_OUT_OF_MEMORY:
                (.internal, "there is not enough memory for the transfer from \(peer)", true)
            case CURLcode(rawValue: 100):
                // CURLE_TOO_LARGE of 8.6 and later, for the two cases of 7.88 above.
                (.headersTooLarge, "the response header of \(peer) is too large", false)
            default:
                (.internal, "the transfer from \(peer) failed (libcurl error \(curlCode))", false)
            }
        var errorNumber: Int?
        if (kind == .connect || context.isAtProxy) && context.errorNumber > 0 { errorNumber = context.errorNumber }
        let hint = [.dns, .connect, .timeout].contains(kind) ? Self.proxyHint(context) : ""
        self.init(kind, message + hint, isRetryable: isRetryable, curlCode: curlCode, errno: errorNumber)
    }

    private init(refusedBy context: FailureContext, curlCode: Int) {
        let status = context.proxyStatus
        let message =
            status == 407
            ? "the proxy for \(context.peer) requires credentials"
            : "the proxy for \(context.peer) refused the connection (status \(status))"
        let isRetryable = RetryPolicy.isTransient(status: status)
        self.init(.proxy, message, isRetryable: isRetryable, httpStatus: status, curlCode: curlCode)
    }

    private static func proxyHint(_ context: FailureContext) -> String {
        context.ignoredProxyVariable.map { "; \($0) is set, but is used only with --proxy-from-environment" } ?? ""
    }

    private static func reason(_ errorNumber: Int) -> String {
        guard errorNumber > 0, let code = Int32(exactly: errorNumber) else { return "" }
        return ": \(Errno(code: code).message)"
    }

    /// libcurl's text as one line of printable ASCII, cut to fit a message.
    private static func quoted(_ text: String) -> String {
        let line = text.unicodeScalars.prefix(200).map { (0x20...0x7e).contains($0.value) ? Character($0) : "?" }
        return line.isEmpty ? "" : ": \(String(line))"
    }
}
