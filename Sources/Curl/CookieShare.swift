internal import CCurl

/// The cookies set by the servers of one download; libcurl matches and expires them (RFC 6265). In memory only.
///
/// Not Sendable. Isolation: the loop thread, so that libcurl needs no locks.  C: libcurl-share(3)
@safe package final class CookieShare {
    // Safety: cleaned up once, in deinit; every easy handle that uses it keeps us alive.
    let raw: OpaquePointer

    /// Starts without cookies; throws when memory is short.
    package init() throws(CurlError) {
        try CurlGlobal.start()
        guard let raw = unsafe curl_share_init() else { throw CurlError(CURLE_OUT_OF_MEMORY, "share_init") }
        unsafe self.raw = raw
        if unsafe ccurl_share_cookies(raw) != CURLSHE_OK { throw CurlError(CURLE_OUT_OF_MEMORY, "share_setopt") }
    }

    deinit { _ = unsafe curl_share_cleanup(raw) }
}
