import Testing

@testable import Core

@Suite struct RedirectPolicyTests {
    private static let headers = [
        HeaderField("Authorization", "a"), HeaderField("X-Api-Key", "b"), HeaderField("Cookie", "c"),
        HeaderField("accept", "d"), HeaderField("Accept-Language", "e"), HeaderField("USER-AGENT", "f"),
        HeaderField("Proxy-Authorization", "g"), HeaderField("Referer", "h"),
    ]
    private static let all = [
        "Authorization", "X-Api-Key", "Cookie", "accept", "Accept-Language", "USER-AGENT",
        "Proxy-Authorization", "Referer",
    ]
    private static let harmless = ["accept", "Accept-Language", "USER-AGENT"]

    enum Gist: Equatable, Sendable {
        case follow([String])
        case denied(FailureKind)
    }

    private static func origin(_ scheme: String, _ host: String, _ port: Int? = nil) -> Origin {
        Origin(scheme: scheme, host: host, port: port)
    }
    private static let current = origin("https", "a.example")

    @Test(
        arguments: [
            Row("same origin", (current, current, 0), .follow(all)),
            Row("host in capitals", (current, origin("HTTPS", "A.Example"), 0), .follow(all)),
            Row("port spelled out", (current, origin("https", "a.example", 443), 0), .follow(all)),
            Row("another host", (current, origin("https", "b.example"), 0), .follow(harmless)),
            Row("a host below", (current, origin("https", "x.a.example"), 0), .follow(harmless)),
            Row("another port", (current, origin("https", "a.example", 8443), 0), .follow(harmless)),
            Row("up to https", (origin("http", "a.example"), current, 0), .follow(harmless)),
            Row("down to http", (current, origin("http", "a.example"), 0), .denied(.redirectDenied)),
            Row("http to http", (origin("http", "a"), origin("http", "a"), 0), .follow(all)),
            Row("ftp", (current, origin("ftp", "a.example"), 0), .denied(.redirectDenied)),
            Row("file", (current, origin("file", ""), 0), .denied(.redirectDenied)),
            Row("no host", (current, origin("https", ""), 0), .denied(.redirectDenied)),
            Row("the last hop", (current, current, 19), .follow(all)),
            Row("one too many", (current, current, 20), .denied(.tooManyRedirects)),
        ] as [Row<(Origin, Origin, Int), Gist>])
    func `hops`(row: Row<(Origin, Origin, Int), Gist>) {
        let (from, to, hops) = row.input
        switch RedirectPolicy.decide(from: from, to: to, hopCount: hops, headers: Self.headers) {
        case .follow(let headers): #expect(Gist.follow(headers.map(\.name)) == row.expected)
        case .denied(let failure):
            #expect(Gist.denied(failure.kind) == row.expected)
            #expect(!failure.isRetryable)
        }
    }

    @Test(arguments: [[], [""], ["/a", "/b"], [String(repeating: "x", count: Limits.urlByteCount + 1)]])
    func `a redirect without one usable target is an error`(locations: [String]) {
        let head = ResponseHead(status: 302, fields: locations.map { .init("Location", $0) })
        #expect(throws: DownloadFailure.self) { try RedirectPolicy.location(head).get() }
    }
}
