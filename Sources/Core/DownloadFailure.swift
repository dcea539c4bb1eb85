/// The kind of a failure; the raw values are the wire's `error.kind`.
package enum FailureKind: String, Sendable, CaseIterable {
    case dns
    case connect
    case timeout
    case stalled
    case tls
    case tlsCertificate
    case httpStatus
    case tooManyRedirects
    case redirectDenied
    case unsupportedUrl
    case `protocol`
    case headersTooLarge
    case incomplete
    case remoteChanged
    case rangeUnsupported
    case checksumMismatch
    case diskFull
    case io
    case permissionDenied
    case destinationConflict
    case destinationGone
    case partialReplaced
    case partialInUse
    case fileTooLarge
    case sizeLimit
    case urlExpired
    case rateLimited
    case proxy
    case storage
    case `internal`
}

/// The failure of a download: its record stores it and the wire's `error` member shows it.
package struct DownloadFailure: Error, Equatable, Sendable {
    package var kind: FailureKind
    /// One sentence for people; contains no header, userinfo or query value.
    package var message: String
    /// True when a later try, unchanged, may succeed.
    package var isRetryable: Bool
    package var httpStatus: Int?
    package var curlCode: Int?
    package var errno: Int?
    /// The id of the download that has the destination, with `destinationConflict`.
    package var holderID: String?

    package init(
        _ kind: FailureKind,
        _ message: String,
        isRetryable: Bool,
        httpStatus: Int? = nil,
        curlCode: Int? = nil,
        errno: Int? = nil,
        holderID: String? = nil
    ) {
        self.kind = kind
        self.message = message
        self.isRetryable = isRetryable
        self.httpStatus = httpStatus
        self.curlCode = curlCode
        self.errno = errno
        self.holderID = holderID
    }
}
