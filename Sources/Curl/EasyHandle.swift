internal import CCurl

/// One easy handle with all the memory that libcurl keeps pointers to.  C: curl_easy_init(3), curl_easy_cleanup(3)
///
/// Isolation: the thread of its multi. Remove it from the multi before it is destroyed.
@safe struct EasyHandle: ~Copyable {
    // Safety: cleaned up once, in deinit; does not leave this module.
    let raw: OpaquePointer
    // Safety: written by libcurl until the clean-up, freed after it.
    private let errorBuffer: UnsafeMutablePointer<CChar>
    // Destroyed after the body of deinit, that is after the clean-up.
    private let headers: HeaderList
    // Destroyed after the clean-up too.
    private let cookies: CookieShare?

    init(headers: consuming HeaderList, cookies: CookieShare?) throws(CurlError) {
        try CurlGlobal.start()
        guard let raw = unsafe curl_easy_init() else { throw CurlError(CURLE_OUT_OF_MEMORY, "easy_init") }
        unsafe self.raw = raw
        unsafe errorBuffer = .allocate(capacity: Int(CURL_ERROR_SIZE))
        unsafe errorBuffer.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        self.headers = headers
        self.cookies = cookies
        _ = unsafe ccurl_easy_setopt_error_buffer(raw, errorBuffer)
        _ = unsafe ccurl_easy_setopt_headers(raw, self.headers.raw)
        if let cookies { _ = unsafe ccurl_easy_setopt_share(raw, cookies.raw) }
    }

    deinit {
        // libcurl may use the header list and the error buffer until the clean-up returns.
        unsafe curl_easy_cleanup(raw)
        unsafe errorBuffer.deallocate()
    }

    borrowing func set(_ option: CURLoption, _ value: Int) throws(CurlError) {
        let code = unsafe ccurl_easy_setopt_long(raw, option, value)
        if code != CURLE_OK { throw CurlError(code, "setopt \(option.rawValue)") }
    }

    borrowing func set(_ option: CURLoption, _ value: String) throws(CurlError) {
        let code = unsafe ccurl_easy_setopt_string(raw, option, value)
        if code != CURLE_OK { throw CurlError(code, "setopt \(option.rawValue)") }
    }

    /// Sets both callbacks and their context, which also becomes the handle's private pointer.
    borrowing func setCallbacks(
        write: ccurl_data_function, header: ccurl_data_function, context: UnsafeMutableRawPointer
    ) throws(CurlError) {
        let code = unsafe ccurl_easy_setopt_callbacks(raw, write, header, context)
        if code != CURLE_OK { throw CurlError(code, "setopt callbacks") }
    }

    /// Sets a function that sees all traffic, including TLS messages; the context is that of the callbacks.
    borrowing func setDebugCallback(
        _ debug: ccurl_debug_function, context: UnsafeMutableRawPointer
    ) throws(CurlError) {
        let code = unsafe ccurl_easy_setopt_debug(raw, debug, context)
        if code != CURLE_OK { throw CurlError(code, "setopt debug") }
    }

    /// Sets the function that creates the sockets.
    borrowing func setOpenSocket(
        _ open: ccurl_socket_function, context: UnsafeMutableRawPointer
    ) throws(CurlError) {
        let code = unsafe ccurl_easy_setopt_open_socket(raw, open, context)
        if code != CURLE_OK { throw CurlError(code, "setopt open_socket") }
    }

    /// Resumes a paused transfer; callbacks may run before it returns.  C: curl_easy_pause(3)
    borrowing func unpause() -> CURLcode {
        unsafe ccurl_easy_unpause(raw)
    }

    /// A number about the last transfer; -1 when libcurl does not know it.
    borrowing func long(_ info: CURLINFO) -> Int {
        unsafe ccurl_easy_getinfo_long(raw, info)
    }

    /// A time in microseconds or a byte count; -1 when libcurl does not know it.
    borrowing func offset(_ info: CURLINFO) -> Int64 {
        Int64(unsafe ccurl_easy_getinfo_offset(raw, info))
    }

    borrowing func string(_ info: CURLINFO) -> String? {
        guard let text = unsafe ccurl_easy_getinfo_string(raw, info) else { return nil }
        return unsafe String(cString: text)
    }

    /// libcurl's text for the last error, possibly empty.  Not for people: it may quote what the server sent.
    var errorText: String {
        unsafe String(cString: errorBuffer)
    }
}
