internal import CCurl

/// The cookies that the servers of one download set: kept, matched and expired by libcurl as RFC 6265 has it, in memory
/// alone.
///
/// Not Sendable. Isolation: the loop thread, so that libcurl needs no locks.  C: libcurl-share(3)
@safe package final class CookieShare {
    // Safety: cleaned up once, in deinit; every easy handle that knows it holds us.
    let raw: OpaquePointer

    /// Without a cookie; throws when there is no memory.
    package init() throws(CurlError) {
        try CurlGlobal.start()
        guard let raw = unsafe curl_share_init() else { throw CurlError(CURLE_OUT_OF_MEMORY, "share_init") }
        unsafe self.raw = raw
        if unsafe ccurl_share_cookies(raw) != CURLSHE_OK { throw CurlError(CURLE_OUT_OF_MEMORY, "share_setopt") }
    }

    deinit { _ = unsafe curl_share_cleanup(raw) }
}
