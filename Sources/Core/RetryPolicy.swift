/// What follows a failure.
package enum RetryDecision: Equatable, Sendable {
    case retry(afterMilliseconds: Int64)
    case giveUp
}

/// When a failure is tried again, and after how long.
package enum RetryPolicy {
    /// Decides after a failure.
    ///
    /// `failureCount` counts the failures in a row, this one included, without a byte gained between them; bytes that
    /// only replace what a restart threw away are not gained.
    /// `retryAfterMilliseconds` is what the server asked for; it replaces the delay of our own.
    /// `random` lies in 0 ..< 1.
    /// `isUnbounded`: what is missing comes back by itself, and it is nobody's fault: the tries do not run out.
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

    /// The n-th delay doubles the one before, up to the cap; the upper half of it is drawn by lot.
    ///
    /// The lot keeps downloads that failed together from coming back together; the half that is certain keeps a
    /// single one from hammering.
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

    /// Statuses that time may mend; everything else is an answer.
    package static func isTransient(status: Int) -> Bool {
        switch status {
        // 202: being made ready.  421: wrong connection.  511: a captive portal.  520–530: a front without its origin.
        case 202, 408, 421, 425, 429, 500, 502, 503, 504, 511, 520...527, 530: true
        default: false
        }
    }

    /// Whether a failure of that kind is worth another try, when nothing more is known of it.
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
