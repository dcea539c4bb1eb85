import Core
import Testing

@testable import Curl

@Suite struct TLSRefusalTests {
    static let refusals = [
        "error:0A00045C:SSL routines::tlsv13 alert certificate required",
        "OpenSSL SSL_read: error:0A000412:SSL routines::sslv3 alert bad certificate, errno 0",
        "OpenSSL SSL_connect: error:0A000458:SSL routines::tlsv1 unrecognized name",
        "error:0A000410:SSL routines::sslv3 alert handshake failure",
        "GnuTLS, handshake failed: A TLS fatal alert has been received.",
    ]

    @Test(arguments: refusals)
    func `an alert is the peer's last word, in the handshake and in place of an answer`(text: String) {
        for code in [35, 55, 56] {
            let failure = DownloadFailure(curlCode: code, context: FailureContext(peer: "h:443", errorText: text))
            #expect(failure.kind == .tls && !failure.isRetryable)
            #expect(failure.message.contains("h:443") && failure.message.contains(text))
        }
    }

    @Test(arguments: refusals)
    func `an alert behind the first byte of a head is a lost connection`(text: String) {
        let context = FailureContext(peer: "h:443", wasConnected: true, headerByteCount: 5, errorText: text)
        #expect(DownloadFailure(curlCode: 56, context: context).kind == .incomplete)
    }

    @Test(arguments: [
        ("SSL certificate verification failed", FailureKind.tls),
        ("SSL certificate problem: certificate has expired", .tlsCertificate),
        ("SSL certificate problem: self-signed certificate", .tlsCertificate),
        ("SSL: no alternative certificate subject name matches target host name 'h'", .tlsCertificate),
    ]) func `an alert for an expired certificate is not our own finding`(text: String, kind: FailureKind) {
        let failure = DownloadFailure(curlCode: 60, context: FailureContext(peer: "h:443", errorText: text))
        #expect(failure.kind == kind && !failure.isRetryable)
    }

    @Test(arguments: [
        "error:0A00010B:SSL routines::wrong version number", "error:0A0000C6:SSL routines::packet length too long",
    ])
    func `an answer that is no TLS is no passing trouble`(text: String) {
        let failure = DownloadFailure(curlCode: 35, context: FailureContext(peer: "h:443", errorText: text))
        #expect(failure.kind == .tls && !failure.isRetryable)
    }

    @Test(arguments: [
        "", "OpenSSL SSL_connect: SSL_ERROR_SYSCALL in connection to h:443", "Recv failure: Connection reset by peer",
        "error:0A000126:SSL routines::unexpected eof while reading", "error:0200100B:x::y", "error:", "error:0A00zzzz",
    ])
    func `a connection that breaks is tried again`(text: String) {
        let context = FailureContext(peer: "h:443", errorText: text)
        #expect(DownloadFailure(curlCode: 35, context: context).isRetryable)
        #expect(DownloadFailure(curlCode: 56, context: context).kind == .incomplete)
    }
}
