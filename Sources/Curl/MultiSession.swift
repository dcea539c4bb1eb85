internal import CCurl

/// All running transfers of one owner and the connections they share.
///
/// Not Sendable. Isolation: the loop thread; call `close` there too.  The only strong owner of running transfers:
/// libcurl keeps their addresses.
package final class MultiSession {
    private let multi: MultiHandle
    private var transfers: [ObjectIdentifier: Transfer] = [:]
    private var news: [Transfer] = []
    private var isClosed = false

    /// - Parameter maxIdleConnectionCount: how many idle connections to keep for reuse, at least 64.
    package init(maxIdleConnectionCount: Int = 64) throws(CurlError) {
        let multi = try MultiHandle()
        try multi.set(CURLMOPT_MAXCONNECTS, min(max(64, maxIdleConnectionCount), 10_000))
        try multi.set(CURLMOPT_PIPELINING, Int(CURLPIPE_NOTHING))
        self.multi = multi
    }

    deinit {
        precondition(transfers.isEmpty, "a session goes after its transfers")
    }

    /// The number of running transfers, paused ones included.
    package var activeCount: Int { transfers.count }

    /// Adds a transfer, which starts at the next `perform`; throws when the session is closed or memory is short.
    package func add(_ transfer: Transfer) throws(CurlError) {
        if isClosed {
            let code = Int(CURLM_BAD_HANDLE.rawValue)
            throw CurlError(code: code, operation: "multi add_handle", detail: "the session is closed")
        }
        try transfer.attach(to: multi, of: self)
        transfers[ObjectIdentifier(transfer)] = transfer
    }

    /// Ends a transfer at once, without an outcome and without news; its connection is closed.
    ///
    /// Received bytes stay in its buffers. Does nothing to a transfer that has ended.
    package func cancel(_ transfer: Transfer) {
        guard transfers.removeValue(forKey: ObjectIdentifier(transfer)) != nil else { return }
        transfer.detach(from: multi, code: nil)
        if transfer.hasNews {
            news.removeAll { $0 === transfer }
            transfer.hasNews = false
        }
    }

    /// Sends, receives and finishes all that is possible without waiting; then call `takeNews`.
    package func perform() throws(CurlError) {
        try multi.perform()
        while let (context, code) = unsafe multi.nextMessage() {
            // Safety: every handle in the multi belongs to a transfer in the table.
            let transfer = unsafe Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
            finish(transfer, code)
        }
        for transfer in news { transfer.finishIfWhole() }
    }

    /// The transfers that changed since the last call, each once: a header line or body bytes arrived, it paused, or it
    /// ended.
    package func takeNews() -> [Transfer] {
        let taken = news
        news = []
        for transfer in taken { transfer.hasNews = false }
        return taken
    }

    /// Sleeps until a connection or a descriptor is ready, or the time is up; true when the first descriptor is.
    ///
    /// - Parameter other: another descriptor that ends the sleep; negative for none.
    @discardableResult
    package func poll(wakeUp: Int32, other: Int32 = -1, timeoutMilliseconds: Int32) -> Bool {
        // `resumeReceiving` may have added news outside `perform`.
        multi.poll(wakeUp: wakeUp, other: other, timeoutMilliseconds: news.isEmpty ? timeoutMilliseconds : 0)
    }

    /// Cancels all transfers and drops the news; no transfer can be added afterwards.
    package func close() {
        isClosed = true
        for transfer in transfers.values { transfer.detach(from: multi, code: nil) }
        transfers = [:]
        _ = takeNews()
    }

    func addNews(_ transfer: Transfer) {
        transfer.hasNews = true
        news.append(transfer)
    }

    /// Ends a running transfer with libcurl's result.  Must not be called within a callback.
    func finish(_ transfer: Transfer, _ code: CURLcode) {
        guard transfers.removeValue(forKey: ObjectIdentifier(transfer)) != nil else { return }
        transfer.detach(from: multi, code: code)
        if !transfer.hasNews { addNews(transfer) }
    }
}
