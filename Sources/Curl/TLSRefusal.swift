/// What libcurl's words for a failed TLS connection tell of its cause.
enum TLSRefusal {
    /// A fatal alert of the peer: no common version or cipher, a name it does not serve, a client certificate that is
    /// missing (with TLS 1.3 it comes after the handshake, in place of the answer).  RFC 8446, section 6
    static func isAlert(_ errorText: String) -> Bool {
        errorText.contains(" alert ") || reasonCode(errorText).map { alertReasonCodes.contains($0) } ?? false
    }

    /// The alert `certificate_expired`, which 7.88 reports as a certificate of the peer's that was refused: with these
    /// words, and only where its own look at that certificate found nothing wrong.  RFC 8446, 6.2
    static func isExpiryAlert(_ errorText: String) -> Bool {
        errorText == "SSL certificate verification failed"
    }

    /// An alert, or an answer that is no TLS at all, such as plain HTTP.
    static func isFinal(_ errorText: String) -> Bool {
        isAlert(errorText) || reasonCode(errorText).map { foreignReasonCodes.contains($0) } ?? false
    }

    /// OpenSSL's reasons 1000 to 1255 are the alerts.  C: SSL_AD_REASON_OFFSET, sslerr.h
    private static let alertReasonCodes = 1_000...1_255
    /// C: SSL_R_PACKET_LENGTH_TOO_LONG, SSL_R_WRONG_VERSION_NUMBER
    private static let foreignReasonCodes = [198, 267]

    /// The reason in `error:0A00010B:SSL routines::…`: the low 23 bits, behind the library's number.  C: ERR_GET_REASON(3)
    private static func reasonCode(_ errorText: String) -> Int? {
        let words = errorText.split(separator: ":")
        guard let place = words.firstIndex(where: { $0 == "error" || $0.hasSuffix(" error") }), place + 1 < words.count,
            words[place + 1].utf8.count == 8, let code = Int(words[place + 1], radix: 16), code >> 23 == 20
        else { return nil }
        return code & 0x7f_ffff
    }
}
