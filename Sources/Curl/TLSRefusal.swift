/// Finds the cause of a failed TLS connection in libcurl's error text.
enum TLSRefusal {
    /// A fatal alert of the peer: no common version or cipher, an unknown server name, a missing client certificate (in
    /// TLS 1.3 that alert comes after the handshake, instead of the response).  RFC 8446, section 6
    static func isAlert(_ errorText: String) -> Bool {
        errorText.contains(" alert ") || reasonCode(errorText).map { alertReasonCodes.contains($0) } ?? false
    }

    /// The alert `certificate_expired`. 7.88 reports it as a refused certificate of the peer, with this text, and only
    /// if the peer's certificate is valid.  RFC 8446, 6.2
    static func isExpiryAlert(_ errorText: String) -> Bool {
        errorText == "SSL certificate verification failed"
    }

    /// An alert, or a response that is not TLS, such as plain HTTP.
    static func isFinal(_ errorText: String) -> Bool {
        isAlert(errorText) || reasonCode(errorText).map { foreignReasonCodes.contains($0) } ?? false
    }

    /// OpenSSL's reasons 1000 to 1255 are the alerts.  C: SSL_AD_REASON_OFFSET, sslerr.h
    private static let alertReasonCodes = 1_000...1_255
    /// C: SSL_R_PACKET_LENGTH_TOO_LONG, SSL_R_WRONG_VERSION_NUMBER
    private static let foreignReasonCodes = [198, 267]

    /// The reason in `error:0A00010B:SSL routines::…`: the low 23 bits, after the library's number.  C:
    /// ERR_GET_REASON(3)
    private static func reasonCode(_ errorText: String) -> Int? {
        let words = errorText.split(separator: ":")
        guard let place = words.firstIndex(where: { $0 == "error" || $0.hasSuffix(" error") }), place + 1 < words.count,
            words[place + 1].utf8.count == 8, let code = Int(words[place + 1], radix: 16), code >> 23 == 20
        else { return nil }
        return code & 0x7f_ffff
    }
}
