internal import CCurl

/// One multi handle.  Isolation: the loop thread.  C: curl_multi_init(3)
///
/// Remove all easy handles before it is destroyed.
@safe struct MultiHandle: ~Copyable {
    // Safety: cleaned up once, in deinit; does not leave this file.
    private let raw: OpaquePointer

    init() throws(CurlError) {
        try CurlGlobal.start()
        guard let raw = unsafe curl_multi_init() else { throw CurlError(CURLM_OUT_OF_MEMORY, "init") }
        unsafe self.raw = raw
    }

    deinit { _ = unsafe curl_multi_cleanup(raw) }

    borrowing func set(_ option: CURLMoption, _ value: Int) throws(CurlError) {
        let code = unsafe ccurl_multi_setopt_long(raw, option, value)
        if code != CURLM_OK { throw CurlError(code, "setopt \(option.rawValue)") }
    }

    borrowing func add(_ easy: borrowing EasyHandle) throws(CurlError) {
        let code = unsafe curl_multi_add_handle(raw, easy.raw)
        if code != CURLM_OK { throw CurlError(code, "add_handle") }
    }

    borrowing func remove(_ easy: borrowing EasyHandle) {
        // Fails only for an invalid handle or within a callback, which would be our bug.
        let code = unsafe curl_multi_remove_handle(raw, easy.raw)
        precondition(code == CURLM_OK, "an easy handle could not be removed")
    }

    /// Does all work that is possible without waiting.  C: curl_multi_perform(3)
    borrowing func perform() throws(CurlError) {
        var runningCount: Int32 = 0
        let code = unsafe curl_multi_perform(raw, &runningCount)
        if code != CURLM_OK { throw CurlError(code, "perform") }
    }

    /// The next finished easy handle's private pointer and result; nil when there is none.  C: curl_multi_info_read(3)
    borrowing func nextMessage() -> (context: UnsafeMutableRawPointer, result: CURLcode)? {
        let message = unsafe ccurl_multi_next_message(raw)
        guard unsafe message.is_done, let easy = unsafe message.easy else { return nil }
        guard let context = unsafe ccurl_easy_private(easy) else { return nil }
        return unsafe (context, message.result)
    }

    /// Sleeps until a socket or a descriptor is ready, or the time is up; true when the first descriptor is.
    borrowing func poll(wakeUp: Int32, other: Int32, timeoutMilliseconds: Int32) -> Bool {
        unsafe ccurl_multi_poll(raw, wakeUp, other, timeoutMilliseconds)
    }
}

extension EasyHandle {
    borrowing func add(to multi: borrowing MultiHandle) throws(CurlError) {
        try multi.add(self)
    }
}
