internal import CCurl

/// All running transfers of one owner and the connections they share.
///
/// Not Sendable. Isolation: the loop thread, its end included: `close` it there.  The only strong owner of running
/// transfers, whose addresses libcurl knows.
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

    /// How many transfers run, paused ones included.
    package var activeCount: Int { transfers.count }

    /// Starts a transfer at the next `perform`; throws when the session is closed or there is no memory.
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
    /// What it has received stays in its buffers. Does nothing to a transfer that has ended.
    package func cancel(_ transfer: Transfer) {
        guard transfers.removeValue(forKey: ObjectIdentifier(transfer)) != nil else { return }
        transfer.detach(from: multi, code: nil)
        if transfer.hasNews {
            news.removeAll { $0 === transfer }
            transfer.hasNews = false
        }
    }

    /// Sends, receives and ends what can be without waiting; then see `takeNews`.
    package func perform() throws(CurlError) {
        try multi.perform()
        while let (context, code) = unsafe multi.nextMessage() {
            // Safety: a handle that is in the multi is a transfer's in the table.
            let transfer = unsafe Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
            finish(transfer, code)
        }
        for transfer in news { transfer.finishIfWhole() }
    }

    /// The transfers that changed since the last call, each once: a line of a head or body bytes came, it paused, it ended.
    package func takeNews() -> [Transfer] {
        let taken = news
        news = []
        for transfer in taken { transfer.hasNews = false }
        return taken
    }

    /// Sleeps until a connection or a descriptor has something, or the time is up; true when the first descriptor has.
    ///
    /// - Parameter other: one more descriptor that ends the sleep; negative for none.
    @discardableResult
    package func poll(wakeUp: Int32, other: Int32 = -1, timeoutMilliseconds: Int32) -> Bool {
        // News may have come outside `perform`, from `resumeReceiving`.
        multi.poll(wakeUp: wakeUp, other: other, timeoutMilliseconds: news.isEmpty ? timeoutMilliseconds : 0)
    }

    /// Cancels all transfers and forgets the news; no transfer can be added any more.
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

    /// Ends a running transfer with libcurl's verdict.  Must not be called from within a callback.
    func finish(_ transfer: Transfer, _ code: CURLcode) {
        guard transfers.removeValue(forKey: ObjectIdentifier(transfer)) != nil else { return }
        transfer.detach(from: multi, code: code)
        if !transfer.hasNews { addNews(transfer) }
    }
}
