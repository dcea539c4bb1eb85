import Core
import Testing

@Suite struct OfflinePolicyTests {
    typealias Ways = OfflinePolicy.Ways

    struct Case: Sendable {
        var kind: FailureKind
        var errno: Int?
        var ways: Ways

        init(_ kind: FailureKind, errno: Int? = nil, route: Bool?, defaultRoute: Bool) {
            self.kind = kind
            self.errno = errno
            ways = Ways(hasRoute: route, hasDefaultRoute: defaultRoute)
        }
    }

    @Test(
        arguments: [
            Row("no route at all", Case(.connect, errno: 101, route: false, defaultRoute: false), true),
            Row("no route to that place", Case(.connect, errno: 101, route: false, defaultRoute: true), true),
            Row("a name, and nobody to ask", Case(.dns, route: nil, defaultRoute: false), true),
            Row("a name that is unknown", Case(.dns, route: nil, defaultRoute: true), false),
            Row("nobody answers nearby", Case(.connect, errno: 113, route: true, defaultRoute: false), true),
            Row("nobody answers out there", Case(.connect, errno: 113, route: true, defaultRoute: true), false),
            Row("silence on the local network", Case(.timeout, route: true, defaultRoute: false), true),
            Row("silence out there", Case(.timeout, route: true, defaultRoute: true), false),
            Row("the way went while connecting", Case(.timeout, route: false, defaultRoute: false), true),
            Row("refused on the local network", Case(.connect, errno: 111, route: true, defaultRoute: false), false),
            Row("no descriptor left", Case(.connect, errno: 24, route: true, defaultRoute: false), false),
            Row("refused", Case(.connect, errno: 111, route: true, defaultRoute: true), false),
            Row("refused, and no route any more", Case(.connect, errno: 111, route: false, defaultRoute: false), false),
            Row("refused at an address unknown", Case(.connect, errno: 111, route: nil, defaultRoute: false), false),
            Row("refused by a proxy, no route", Case(.proxy, errno: 111, route: false, defaultRoute: false), false),
            Row("a blackhole for a route", Case(.connect, errno: 22, route: false, defaultRoute: false), true),
            Row("an address without its interface", Case(.connect, errno: 22, route: true, defaultRoute: false), false),
            Row("the proxy's name", Case(.proxy, route: nil, defaultRoute: false), true),
            Row("the proxy refuses", Case(.proxy, errno: 111, route: true, defaultRoute: false), false),
            Row("the way went while bytes came", Case(.stalled, route: false, defaultRoute: false), true),
            Row("the way went, another is there", Case(.incomplete, route: false, defaultRoute: true), true),
            Row("the server fell silent", Case(.stalled, route: true, defaultRoute: false), false),
            Row("the server hung up", Case(.incomplete, route: true, defaultRoute: false), false),
            Row("TLS was cut", Case(.tls, route: false, defaultRoute: false), true),
            Row("an answer", Case(.rateLimited, route: false, defaultRoute: false), false),
            Row("the disk", Case(.io, route: false, defaultRoute: false), false),
        ] as [Row<Case, Bool>])
    func `a network that is away is told from a server that does not answer`(row: Row<Case, Bool>) {
        let failure = DownloadFailure(row.input.kind, "", isRetryable: true, errno: row.input.errno)
        #expect(OfflinePolicy.isOffline(failure, row.input.ways) == row.expected)
    }

    @Test(arguments: FailureKind.allCases)
    func `what is not worth another try, and what a server said, is no absence`(kind: FailureKind) {
        let ways = Ways(hasRoute: false, hasDefaultRoute: false)
        #expect(!OfflinePolicy.isOffline(DownloadFailure(kind, "", isRetryable: false), ways))
        #expect(!OfflinePolicy.isOffline(DownloadFailure(kind, "", isRetryable: true, httpStatus: 503), ways))
    }

    struct Change: Sendable {
        var before: Ways
        var now: Ways

        init(_ before: (route: Bool?, defaultRoute: Bool), _ now: (route: Bool?, defaultRoute: Bool)) {
            self.before = Ways(hasRoute: before.route, hasDefaultRoute: before.defaultRoute)
            self.now = Ways(hasRoute: now.route, hasDefaultRoute: now.defaultRoute)
        }
    }

    /// Whether a try is allowed after a change of the network, and after time alone.
    struct Answer: Equatable, Sendable {
        var atNews: Bool
        var inTime: Bool

        init(_ atNews: Bool, _ inTime: Bool) {
            self.atNews = atNews
            self.inTime = inTime
        }
    }

    @Test(
        arguments: [
            Row("nothing came", Change((false, false), (false, false)), Answer(false, false)),
            Row("a route came", Change((false, false), (true, false)), Answer(true, true)),
            Row("a default route came", Change((nil, false), (nil, true)), Answer(true, true)),
            Row("one that leads elsewhere, perhaps", Change((false, false), (false, true)), Answer(true, true)),
            Row("it had one all the time", Change((true, false), (true, false)), Answer(false, true)),
            Row("another family's was there", Change((false, true), (false, true)), Answer(false, true)),
            Row("a route came beside the default", Change((false, true), (true, true)), Answer(true, true)),
        ] as [Row<Change, Answer>])
    func `a change of the routes ends the wait, and time where they cannot tell`(row: Row<Change, Answer>) {
        let change = row.input
        let atNews = OfflinePolicy.mayTry(change.now, before: change.before, isDue: false)
        let inTime = OfflinePolicy.mayTry(change.now, before: change.before, isDue: true)
        #expect(Answer(atNews, inTime) == row.expected)
    }

    @Test func `looks become rarer, down to one a minute`() {
        let waits = [Int.min, 0, 1, 2, 3, 4, 5, 100, .max].map { OfflinePolicy.lookMilliseconds(tryCount: $0) }
        #expect(waits == [5_000, 5_000, 5_000, 10_000, 20_000, 40_000, 60_000, 60_000, 60_000])
    }
}
