/// Every limit that the protocol and the policies name, in one place.
package enum Limits {
    // What a host may send.

    /// Bytes of a URL.
    package static let urlByteCount = 8_192
    /// Bytes of a file or directory path.
    package static let pathByteCount = 4_096
    /// Bytes of all request headers of one download, counted as sent: `name: value` CR LF.
    package static let requestHeadersByteCount = 16_384
    /// Bytes of a `User-Agent`.
    package static let userAgentByteCount = 1_024
    /// Milliseconds of a time limit or a wait: up to one day.
    package static let delayMilliseconds: ClosedRange<Int64> = 1...86_400_000
    /// Failures in a row before a download fails.
    package static let retryAttemptCount: ClosedRange<Int64> = 0...1_000_000
    /// A download's priority.
    package static let priority: ClosedRange<Int64> = -1_000_000...1_000_000
    /// Bytes of a download's `metadata`, serialised.
    package static let metadataByteCount = 4_096
    /// Bytes of a request id that is a string.
    package static let requestIDByteCount = 500
    /// Bytes of a download id.
    package static let downloadIDByteCount = 64
    /// Depth of nested arrays and objects.
    package static let nestingDepth = 32
    /// Requests in one batch.
    package static let batchCount = 64
    /// Bytes of one input line, without its end.
    package static let inputLineByteCount = 1 << 20

    // What the service sends.

    /// Bytes of one message to the host; replies to a batch excepted.
    package static let messageByteCount = 64_000
    /// Bytes after which a page or an event ends early.
    package static let pageByteCount = 48_000
    /// The most downloads on one page of `list`.
    package static let listPageCount = 100
    /// The default for downloads on one page.
    package static let listPageDefaultCount = 50
    /// The most errors that a bulk command lists.
    package static let bulkErrorCount = 20
    /// Bytes of exported resume data.
    package static let resumeDataByteCount = 32_768

    // What a server may do.

    /// Redirects followed for one request.
    package static let redirectCount = 20
    /// Restarts in one run of a download because the server's file or its answers to range requests changed.
    package static let restartCount = 3
    /// Stored bytes that every resume fetches again for comparison; they count towards the loss after a kill.
    package static let overlapByteCount: Int64 = 16_384
    /// The same when nothing else proves that the file is unchanged; also how much earlier than requested a response
    /// may begin.
    package static let probeByteCount: Int64 = 65_536
    /// Responses of one run that contain only bytes to compare; above this, ranges are not used.
    package static let comparisonCount = 16
    /// A part with fewer new bytes is small; after `smallPartCount` of them in one run the rest are delayed.
    package static let smallPartByteCount: Int64 = 4_096
    package static let smallPartCount = 100
    /// The delay of each further small part.
    package static let smallPartMilliseconds: Int64 = 100
    /// A body with another content type is not a new version when it is shorter than the file's length divided by this.
    package static let farSmallerDivisor: Int64 = 4
    /// Partials of earlier versions that one download keeps.
    package static let keptPartialCount = 8
    /// Bytes of a file: 2^53 − 1, the largest integer that every JSON reader keeps exact.
    package static let fileByteCount: Int64 = 9_007_199_254_740_991
    /// Bytes of an `ETag`, `Last-Modified` or `Content-Type` that is kept; a longer one counts as absent.
    package static let entityFieldByteCount = 1_024
    /// Bytes of a `Content-Disposition` that is read; a longer one counts as absent.
    package static let contentDispositionByteCount = 8_192
    /// The longest wait that `Retry-After` can impose.
    package static let retryAfterMaxMilliseconds: Int64 = 3_600_000
    /// The shortest wait for a `Retry-After`.
    package static let retryAfterMinMilliseconds: Int64 = 1_000

    // What is written to disk.

    /// Bytes of a file name, the partial's suffix included.
    package static let fileNameByteCount = 240

    /// True for `^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`.
    package static func isDownloadID(_ id: String) -> Bool {
        let bytes = id.utf8
        guard let first = bytes.first, bytes.count <= downloadIDByteCount, first.isASCIIAlphanumeric else {
            return false
        }
        return bytes.allSatisfy { byte in
            byte.isASCIIAlphanumeric || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_")
                || byte == UInt8(ascii: "-")
        }
    }
}
