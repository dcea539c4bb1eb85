/// Every limit that the protocol and the policies name, in one place.
package enum Limits {
    // What a host may send.

    /// Bytes of a URL.
    package static let urlByteCount = 8_192
    /// Bytes of a file or directory path.
    package static let pathByteCount = 4_096
    /// Bytes of all request headers of one download, counted as they travel: `name: value` CR LF.
    package static let requestHeadersByteCount = 16_384
    /// Bytes of a `User-Agent`.
    package static let userAgentByteCount = 1_024
    /// Milliseconds of a time limit or a wait: up to a day.
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
    /// Arrays and objects within one another.
    package static let nestingDepth = 32
    /// Requests in one batch.
    package static let batchCount = 64
    /// Bytes of one line of input, without its end.
    package static let inputLineByteCount = 1 << 20

    // What goes out.

    /// Bytes of one message to the host; replies to a batch excepted.
    package static let messageByteCount = 64_000
    /// Bytes at which a page or an event ends early.
    package static let pageByteCount = 48_000
    /// Downloads on one page of `list`, at most.
    package static let listPageCount = 100
    /// The same when nothing is said.
    package static let listPageDefaultCount = 50
    /// Errors that a bulk command lists one by one.
    package static let bulkErrorCount = 20
    /// Bytes of exported resume data.
    package static let resumeDataByteCount = 32_768

    // What a server may do.

    /// Redirects followed for one request.
    package static let redirectCount = 20
    /// Times that one run of a download begins anew because the server's file or its answers to ranges changed.
    package static let restartCount = 3
    /// Bytes held that every resume fetches again to compare them; they count towards what a kill costs.
    package static let overlapByteCount: Int64 = 16_384
    /// The same where nothing else tells whether the file is the same; also how much earlier than asked an answer may begin.
    package static let probeByteCount: Int64 = 65_536
    /// Parts of a run that bring nothing but bytes to compare: a server that needs more has no use for ranges.
    package static let comparisonCount = 16
    /// A part with fewer new bytes is small; so many of a run may come before their rate is bounded.
    package static let smallPartByteCount: Int64 = 4_096
    package static let smallPartCount = 100
    /// How long each of those behind them waits.
    package static let smallPartMilliseconds: Int64 = 100
    /// A body of another type that has less than this part of the file's length is not taken for a new version of it.
    package static let farSmallerDivisor: Int64 = 4
    /// Partial files of earlier versions that one download keeps.
    package static let keptPartialCount = 8
    /// Bytes of a file: the largest integer that every JSON reader keeps exact, 2^53 − 1.
    package static let fileByteCount: Int64 = 9_007_199_254_740_991
    /// Bytes of an `ETag`, `Last-Modified` or `Content-Type` that is kept; a longer one counts as absent.
    package static let entityFieldByteCount = 1_024
    /// Bytes of a `Content-Disposition` that is looked at; a longer one counts as absent.
    package static let contentDispositionByteCount = 8_192
    /// The longest wait that a server's `Retry-After` can impose.
    package static let retryAfterMaxMilliseconds: Int64 = 3_600_000
    /// The shortest wait that one means.
    package static let retryAfterMinMilliseconds: Int64 = 1_000

    // What lands on disk.

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
