/// What to do with a redirect whose target has been parsed.
package enum RedirectDecision: Equatable, Sendable {
    /// Send a GET there with these headers.
    case follow(headers: [HeaderField])
    case denied(DownloadFailure)
}

/// Which redirects are followed, and which headers are sent along.
package enum RedirectPolicy {
    /// The target of a redirect as the response has it; it may be relative.
    package static func location(_ head: ResponseHead) -> Result<String, DownloadFailure> {
        let values = head.values("Location")
        guard let first = values.first, !first.isEmpty else {
            return .failure(broken("The server's redirect names no target.", head))
        }
        guard values.allSatisfy({ $0 == first }) else {
            return .failure(broken("The server's redirect names two targets.", head))
        }
        guard first.utf8.count <= Limits.urlByteCount else {
            return .failure(broken("The server redirects to a URL of over \(Limits.urlByteCount) bytes.", head))
        }
        return .success(first)
    }

    /// Decides on one redirect.
    ///
    /// `hopCount` redirects were followed before this one.  `headers` are the caller's headers in the redirecting
    /// request: one that was dropped stays dropped.
    package static func decide(
        from current: Origin, to target: Origin, hopCount: Int, headers: [HeaderField]
    ) -> RedirectDecision {
        if hopCount >= Limits.redirectCount {
            return denied(.tooManyRedirects, "The server redirects more than \(Limits.redirectCount) times.")
        }
        guard target.isSupported, !target.host.isEmpty else {
            return denied(.redirectDenied, "The server redirects to something other than http or https.")
        }
        if current.scheme == "https", target.scheme == "http" {
            return denied(.redirectDenied, "The server redirects from https to http.")
        }
        if current == target { return .follow(headers: headers) }
        // Any other header may contain a secret.
        return .follow(headers: headers.filter { isHarmless($0.name) })
    }

    private static let harmless = ["Accept", "Accept-Language", "User-Agent"]

    private static func isHarmless(_ name: String) -> Bool {
        harmless.contains { $0.equalsIgnoringASCIICase(name) }
    }

    private static func denied(_ kind: FailureKind, _ message: String) -> RedirectDecision {
        .denied(DownloadFailure(kind, message, isRetryable: false))
    }

    private static func broken(_ message: String, _ head: ResponseHead) -> DownloadFailure {
        DownloadFailure(.protocol, message, isRetryable: false, httpStatus: head.status)
    }
}
