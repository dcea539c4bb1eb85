/// Tells a network that is away from a server that does not answer.
package enum OfflinePolicy {
    /// How soon a download that waits for the network is looked at without being told of a change, at first and at most.
    package static let firstLookMilliseconds: Int64 = 5_000
    package static let maxLookMilliseconds: Int64 = 60_000

    /// True when a failed try says nothing of the server: it is tried again when the network is back, and not counted.
    package static func isOffline(_ failure: DownloadFailure, _ ways: Ways) -> Bool {
        guard failure.isRetryable, failure.httpStatus == nil else { return false }
        switch failure.kind {
        case .dns: return !ways.hasDefaultRoute
        case .connect, .timeout, .proxy:
            // Whoever refuses has been reached, whatever the routes tell by now.
            if failure.errno == connectionRefused { return false }
            guard let hasRoute = ways.hasRoute else { return !ways.hasDefaultRoute }
            // What lacks on this side (descriptors) is no network.
            return !hasRoute || (!ways.hasDefaultRoute && isUnreachable(failure))
        case .stalled, .incomplete, .tls: return ways.hasRoute == false
        default: return false
        }
    }

    /// ECONNREFUSED of Linux.
    private static let connectionRefused = 111

    /// ENETDOWN, ENETUNREACH, ETIMEDOUT, EHOSTDOWN, EHOSTUNREACH of Linux, and a time limit of ours.
    private static func isUnreachable(_ failure: DownloadFailure) -> Bool {
        failure.kind == .timeout || failure.errno.map { [100, 101, 110, 112, 113].contains($0) } ?? false
    }

    /// What the routes of this system tell of one download's way.
    package struct Ways: Equatable, Sendable {
        /// To one of the addresses tried; nil when no address was known.
        package var hasRoute: Bool?
        /// Into the internet.
        package var hasDefaultRoute: Bool

        package init(hasRoute: Bool?, hasDefaultRoute: Bool) {
            self.hasRoute = hasRoute
            self.hasDefaultRoute = hasDefaultRoute
        }
    }

    /// Whether a waiting download may try again.
    ///
    /// - Parameters:
    ///   - before: as it was when it began to wait.
    ///   - isDue: its time has come, too: where it failed in spite of a route only another try can tell, and a name may
    ///     lead elsewhere by now.
    package static func mayTry(_ now: Ways, before: Ways, isDue: Bool) -> Bool {
        if now.hasRoute == true, isDue || before.hasRoute != true { return true }
        return now.hasDefaultRoute && (isDue || !before.hasDefaultRoute)
    }

    /// How long the n-th wait in a row lasts, from 1, if nothing tells of a change.
    package static func lookMilliseconds(tryCount: Int) -> Int64 {
        switch tryCount {
        case ...1: firstLookMilliseconds
        case 2...4: firstLookMilliseconds << Int64(tryCount - 1)
        default: maxLookMilliseconds
        }
    }
}
