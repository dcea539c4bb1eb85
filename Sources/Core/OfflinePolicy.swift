/// Tells a missing network from a server that does not answer.
package enum OfflinePolicy {
    /// How soon a download that waits for the network is checked without a notification: at first, and at most.
    package static let firstLookMilliseconds: Int64 = 5_000
    package static let maxLookMilliseconds: Int64 = 60_000

    /// True when a failure says nothing about the server: the download waits for the network, and the failure is not
    /// counted.
    package static func isOffline(_ failure: DownloadFailure, _ ways: Ways) -> Bool {
        guard failure.isRetryable, failure.httpStatus == nil else { return false }
        switch failure.kind {
        case .dns: return !ways.hasDefaultRoute
        case .connect, .timeout, .proxy:
            // A server that refuses was reached, whatever the routes are now.
            if failure.errno == connectionRefused { return false }
            guard let hasRoute = ways.hasRoute else { return !ways.hasDefaultRoute }
            // A failure on this machine, such as too few descriptors, is not a missing network.
            return !hasRoute || (!ways.hasDefaultRoute && isUnreachable(failure))
        case .stalled, .incomplete, .tls: return ways.hasRoute == false
        default: return false
        }
    }

    /// ECONNREFUSED of Linux.
    private static let connectionRefused = 111

    /// ENETDOWN, ENETUNREACH, ETIMEDOUT, EHOSTDOWN, EHOSTUNREACH of Linux, and our own time limit.
    private static func isUnreachable(_ failure: DownloadFailure) -> Bool {
        failure.kind == .timeout || failure.errno.map { [100, 101, 110, 112, 113].contains($0) } ?? false
    }

    /// The routes of this system for one download.
    package struct Ways: Equatable, Sendable {
        /// There is a route to one of the addresses tried; nil when no address was known.
        package var hasRoute: Bool?
        /// There is a route to the internet.
        package var hasDefaultRoute: Bool

        package init(hasRoute: Bool?, hasDefaultRoute: Bool) {
            self.hasRoute = hasRoute
            self.hasDefaultRoute = hasDefaultRoute
        }
    }

    /// Whether a waiting download may try again.
    ///
    /// - Parameters:
    ///   - before: the routes when it began to wait.
    ///   - isDue: its wait has ended. When it failed although there was a route, only another try can find out more;
    ///     its host name may also resolve to another address by then.
    package static func mayTry(_ now: Ways, before: Ways, isDue: Bool) -> Bool {
        if now.hasRoute == true, isDue || before.hasRoute != true { return true }
        return now.hasDefaultRoute && (isDue || !before.hasDefaultRoute)
    }

    /// How long the n-th wait in a row lasts without a notification; n starts at 1.
    package static func lookMilliseconds(tryCount: Int) -> Int64 {
        switch tryCount {
        case ...1: firstLookMilliseconds
        case 2...4: firstLookMilliseconds << Int64(tryCount - 1)
        default: maxLookMilliseconds
        }
    }
}
