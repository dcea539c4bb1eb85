import Core
import Curl
import Testing

struct DownloadFailureTests {
    struct Case: Sendable {
        var code: Int
        var kind: FailureKind
        var isRetryable: Bool
        var wasConnected = true
        var wasReused = false
        var isHeadIncomplete = true
        var headerByteCount = 0
    }

    @Test(arguments: [
        Case(code: 1, kind: .protocol, isRetryable: false),
        Case(code: 1, kind: .protocol, isRetryable: true, wasReused: true),
        Case(code: 1, kind: .protocol, isRetryable: false, wasReused: true, isHeadIncomplete: false),
        Case(code: 5, kind: .proxy, isRetryable: true),
        Case(code: 6, kind: .dns, isRetryable: true),
        Case(code: 7, kind: .connect, isRetryable: true),
        Case(code: 8, kind: .protocol, isRetryable: false),
        Case(code: 18, kind: .incomplete, isRetryable: true),
        Case(code: 27, kind: .headersTooLarge, isRetryable: false),
        Case(code: 27, kind: .internal, isRetryable: true, wasConnected: false),
        Case(code: 27, kind: .internal, isRetryable: true, isHeadIncomplete: false),
        Case(code: 28, kind: .stalled, isRetryable: true),
        Case(code: 28, kind: .timeout, isRetryable: true, wasConnected: false),
        Case(code: 35, kind: .tls, isRetryable: true),
        Case(code: 52, kind: .incomplete, isRetryable: true),
        Case(code: 56, kind: .incomplete, isRetryable: true),
        Case(code: 56, kind: .headersTooLarge, isRetryable: false, headerByteCount: 300_000),
        Case(code: 56, kind: .incomplete, isRetryable: true, isHeadIncomplete: false, headerByteCount: 300_000),
        Case(code: 60, kind: .tlsCertificate, isRetryable: false),
        Case(code: 77, kind: .tls, isRetryable: false),
        Case(code: 92, kind: .protocol, isRetryable: true),
        Case(code: 97, kind: .proxy, isRetryable: true),
        Case(code: 100, kind: .headersTooLarge, isRetryable: false),
        Case(code: 9_999, kind: .internal, isRetryable: false),
        Case(code: -1, kind: .internal, isRetryable: false),
    ])
    func `each code of libcurl has its kind`(_ expected: Case) {
        let context = FailureContext(
            peer: "example.org:80",
            wasConnected: expected.wasConnected,
            wasReused: expected.wasReused,
            isHeadIncomplete: expected.isHeadIncomplete,
            headerByteCount: expected.headerByteCount
        )
        let failure = DownloadFailure(curlCode: expected.code, context: context)
        #expect(failure.kind == expected.kind)
        #expect(failure.isRetryable == expected.isRetryable)
        #expect(failure.curlCode == expected.code)
        #expect(failure.message.contains("example.org:80"))
    }

    @Test func `a failed connection tells the errno`() {
        let failure = DownloadFailure(curlCode: 7, context: FailureContext(peer: "h:80", errorNumber: 111))
        #expect(failure.errno == 111)
        #expect(failure.message == "could not connect to h:80: Connection refused")
    }

    @Test(arguments: [(403, false), (407, false), (502, true), (503, true), (504, true)])
    func `a proxy that makes no tunnel is told with its status`(status: Int, isRetryable: Bool) {
        let failure = DownloadFailure(curlCode: 56, context: FailureContext(peer: "h:443", proxyStatus: status))
        #expect(failure.kind == .proxy)
        #expect(failure.httpStatus == status)
        #expect(failure.isRetryable == isRetryable)
        #expect(failure.message.contains("proxy for h:443"))
    }

    @Test func `a proxy that made its tunnel is not blamed`() {
        let failure = DownloadFailure(curlCode: 56, context: FailureContext(peer: "h:443", proxyStatus: 200))
        #expect(failure.kind == .incomplete)
    }

    @Test func `a connection to a proxy that fails is the proxy's`() {
        let context = FailureContext(peer: "h:80", errorNumber: 111, isAtProxy: true)
        let failure = DownloadFailure(curlCode: 7, context: context)
        #expect(failure.kind == .proxy)
        #expect(failure.errno == 111)
    }

    @Test(arguments: [
        (7, "Unsupported proxy scheme for 'ftp://u:secret@h:1'"),
        (5, "Unsupported proxy syntax in 'http://u:secret@h:x'"),
        (4, "Unsupported proxy 'https://u:secret@h', libcurl is built without the HTTPS-proxy support."),
    ])
    func `a proxy that cannot be understood is the proxy's, and no other try helps`(code: Int, text: String) {
        let failure = DownloadFailure(curlCode: code, context: FailureContext(peer: "h:80", errorText: text))
        #expect(failure.kind == .proxy)
        #expect(!failure.isRetryable)
        #expect(!failure.message.contains("secret"))
    }

    @Test(arguments: [5, 6, 7, 18, 28, 35, 56, 60])
    func `a proxy that is not used is told of where it may be why`(code: Int) {
        let context = FailureContext(peer: "h:80", ignoredProxyVariable: "http_proxy")
        let message = DownloadFailure(curlCode: code, context: context).message
        #expect(message.contains("http_proxy") == [6, 7, 28].contains(code))
        #expect(message.contains("--proxy-from-environment") == [6, 7, 28].contains(code))
    }

    @Test func `words of libcurl are quoted for certificates only, as one short line`() {
        let text = "SSL certificate problem:\r\n\u{1b}[31m" + String(repeating: "x", count: 1_000)
        let refused = DownloadFailure(curlCode: 60, context: FailureContext(peer: "h:443", errorText: text))
        #expect(refused.message.contains("SSL certificate problem:??[31m") == false)
        #expect(refused.message.contains("SSL certificate problem:"))
        #expect(refused.message.utf8.allSatisfy { (0x20...0x7e).contains($0) })
        #expect(refused.message.utf8.count < 300)
        let lost = DownloadFailure(curlCode: 56, context: FailureContext(peer: "h:80", errorText: "secret"))
        #expect(!lost.message.contains("secret"))
    }
}
