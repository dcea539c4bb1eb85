/// What to do after a failure.
package enum RetryDecision: Equatable, Sendable {
    case retry(afterMilliseconds: Int64)
    case giveUp
}

/// Whether a failure is retried, and after how long.
package enum RetryPolicy {
    /// Decides after a failure.
    ///
    /// `failureCount` counts the failures in a row, this one included, with no new bytes between them; bytes that
    /// replace those discarded by a restart are not new.
    /// `retryAfterMilliseconds` is what the server asked for; it replaces our own delay.
    /// `random` is in 0 ..< 1.
    /// `isUnbounded`: the cause passes by itself and is nobody's fault, so `maxAttempts` does not apply.
    package static func decide(
        failureCount: Int,
        options: RetryOptions,
        failure: DownloadFailure,
        retryAfterMilliseconds: Int64? = nil,
        isUnbounded: Bool = false,
        random: Double
    ) -> RetryDecision {
        guard failure.isRetryable, isUnbounded || failureCount <= options.maxAttempts else { return .giveUp }
        if let wait = retryAfterMilliseconds {
            return .retry(afterMilliseconds: min(max(0, wait), Limits.retryAfterMaxMilliseconds))
        }
        return .retry(
            afterMilliseconds: delayMilliseconds(failureCount: failureCount, options: options, random: random))
    }

    /// Doubles the previous delay, up to the maximum; its upper half is random jitter.
    ///
    /// The jitter keeps downloads that failed together from retrying together; the fixed half keeps a single one from
    /// retrying too fast.
    private static func delayMilliseconds(failureCount: Int, options: RetryOptions, random: Double) -> Int64 {
        let cap = max(0, options.maxDelayMilliseconds)
        var ceiling = min(max(0, options.initialDelayMilliseconds), cap)
        var doublings = failureCount - 1
        while doublings > 0, ceiling > 0, ceiling < cap {
            let (doubled, overflowed) = ceiling.multipliedReportingOverflow(by: 2)
            ceiling = overflowed ? cap : min(doubled, cap)
            doublings -= 1
        }
        let lot = random >= 0 && random < 1 ? random : 0
        let half = ceiling / 2
        return ceiling - half + Int64(Double(min(half, Limits.fileByteCount)) * lot)
    }

    /// Statuses that may pass with time; all others are final.
    package static func isTransient(status: Int) -> Bool {
        switch status {
        // 202: not ready yet.  421: wrong connection.  511: a captive portal.  520–530: a proxy without its origin.
        case 202, 408, 421, 425, 429, 500, 502, 503, 504, 511, 520...527, 530: true
        default: false
        }
    }

    /// Whether a failure of that kind is retried when nothing more is known.
    package static func isRetryable(_ kind: FailureKind, httpStatus: Int? = nil) -> Bool {
        switch kind {
        case .dns, .connect, .timeout, .stalled, .tls, .incomplete, .rateLimited, .partialInUse: true
        case .httpStatus: httpStatus.map(isTransient) ?? false
        case .proxy: httpStatus != 407
        case .tlsCertificate, .tooManyRedirects, .redirectDenied, .unsupportedUrl, .protocol, .headersTooLarge,
            .remoteChanged, .rangeUnsupported, .checksumMismatch, .diskFull, .io, .permissionDenied,
            .destinationConflict, .destinationGone, .partialReplaced, .fileTooLarge, .sizeLimit, .urlExpired,
            .storage, .internal:
            false
        }
    }
}
