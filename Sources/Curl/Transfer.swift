internal import CCurl
package import Core
package import Platform

/// One running GET request. libcurl's callbacks only record; the owner acts after `perform` has returned.
///
/// Not Sendable: created, used and destroyed on the loop thread. The `MultiSession` keeps it alive while it runs.
///
/// A body that the server compressed without being asked is decoded (`ContentCoding.compression`); all public byte
/// counts are of the decoded bytes.
///
/// Body bytes go into buffers that the owner gives in advance. When the next piece does not fit, the transfer pauses
/// (`isPaused`) until the owner has given a buffer and called `resumeReceiving`.
@safe package final class Transfer {
    /// The most body bytes that libcurl delivers at once; a buffer must fit at least one piece.
    package static let maxPieceByteCount = Int(CURL_MAX_WRITE_SIZE)

    package let request: TransferRequest
    /// Nil until the transfer ends; stays nil when it was cancelled.
    package private(set) var outcome: TransferOutcome?
    /// True while no buffer has space for the next piece.
    package private(set) var isPaused = false
    /// Body bytes received and kept since the start.
    package private(set) var receivedByteCount: Int64 = 0
    /// The body bytes that the owner has taken: the body offset of the next buffer it takes.
    package private(set) var takenByteCount: Int64 = 0
    /// True when more body bytes arrived than `limitBody` allows; those up to the limit are kept.  The transfer fails,
    /// unless it had finished before the limit was set.
    package private(set) var exceededLimit = false
    /// True when more body bytes arrived than `Content-Length` announced, next to a transfer coding that libcurl uses
    /// instead; those up to the length are kept, and the transfer fails.
    package private(set) var exceededLength = false
    /// libcurl reports a complete response, but its compressed stream has not ended.
    var isStreamCut = false

    /// The first few addresses it tried to connect to; the proxy's when one is used, none on a reused connection.
    package private(set) var triedAddresses: [SocketAddress] = []

    private var easy: EasyHandle?
    private var buffers = BodyBuffers()
    private(set) var recorder = HeadRecorder()
    private var parsedHead: ResponseHead?
    private(set) var bodyByteLimit = Int64.max
    /// Nil for a body that is not decoded; decided at the first byte.
    private(set) var decoder: ContentDecoder?
    private var isDecoderChosen = false
    private(set) var abortion: Abortion?
    /// How the head frames the body, and how many body bytes were received, counted as sent.
    private(set) var framing: BodyFraming?
    private var sentByteCount: Int64 = 0
    /// What TLS reported about the connection; nothing for plain http.
    private(set) var tls = TLSRecords()
    private var finalMetrics: TransferMetrics?
    private weak var session: MultiSession?
    /// True while it is in the session's list of news.
    var hasNews = false

    /// Prepares the request; nothing is sent before `MultiSession.add`.
    ///
    /// Throws when a header field cannot be sent or memory is short.
    ///
    /// - Parameter cookies: sent where they apply, and updated from the response; nil: no cookies.
    package init(_ request: TransferRequest, cookies: CookieShare? = nil) throws(CurlError) {
        self.request = request
        easy = try EasyHandle.make(for: request, cookies: cookies)
        // Safety: the handle is ours and is destroyed before us; the session keeps us alive while the handle is in its
        // multi.
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe try self.easy?.setCallbacks(write: writeCallback, header: headerCallback, context: context)
        if request.url.scheme == .https { unsafe try self.easy?.setDebugCallback(debugCallback, context: context) }
        unsafe try self.easy?.setOpenSocket(openSocketCallback, context: context)
    }

    package var tag: Int { request.tag }
    package var isFinished: Bool { outcome != nil }
    /// Whether the final response's head is complete.
    package var isHeadComplete: Bool { recorder.isComplete }

    /// The final response's head once it is complete; parsed on first use.
    package var head: ResponseHead? {
        if parsedHead == nil { parsedHead = recorder.head() }
        return parsedHead
    }

    /// libcurl's numbers so far, or those at the end.
    package var metrics: TransferMetrics { finalMetrics ?? easy?.metrics() ?? TransferMetrics() }

    /// The addresses that it used or tried.
    package var peers: [SocketAddress] {
        if !triedAddresses.isEmpty { return triedAddresses }
        return [SocketAddress(numeric: metrics.primaryAddress, port: request.url.port)].compactMap(\.self)
    }

    // MARK: Buffers

    /// Adds an empty buffer for body bytes; its capacity is at least `maxPieceByteCount`.
    package func give(_ buffer: IOBuffer) {
        precondition(buffer.capacity >= Self.maxPieceByteCount, "a body buffer is too small")
        buffers.give(buffer)
    }

    /// Body bytes in the buffers.
    package var bufferedByteCount: Int { buffers.byteCount }
    package var hasFullBuffers: Bool { !buffers.full.isEmpty }

    /// Removes and returns the full buffers, in body order.
    package func takeFullBuffers() -> [IOBuffer] {
        let taken = buffers.takeFull()
        takenByteCount += taken.reduce(0) { $0 + Int64($1.count) }
        return taken
    }

    /// Removes and returns the buffer that is being filled, unless it is empty.  Its bytes follow those of the full
    /// buffers: take those first.
    package func takeCurrentBuffer() -> IOBuffer? {
        precondition(!hasFullBuffers, "the full buffers come first")
        guard let taken = buffers.takeCurrent() else { return nil }
        takenByteCount += Int64(taken.count)
        return taken
    }

    /// Whether the buffered body bytes begin with these.
    package func bufferedBytesStart(with bytes: [UInt8]) -> Bool { buffers.starts(with: bytes) }

    /// Drops this many body bytes from the front of the buffers, as if they had been taken.
    package func dropBufferedBytes(_ byteCount: Int) {
        takenByteCount += Int64(buffers.dropFirst(byteCount))
    }

    /// Returns the empty buffers.
    package func takeUnusedBuffers() -> [IOBuffer] { buffers.takeUnused() }

    /// Resumes a paused transfer; pieces may be recorded before it returns, and it may pause again.
    package func resumeReceiving() {
        guard isPaused else { return }
        isPaused = false
        guard let code = easy?.unpause(), code != CURLE_OK else { return }
        // libcurl dropped the pieces it kept for us: the transfer must not continue without them.
        session?.finish(self, code)
    }

    /// Limits the body to this many bytes, counted from its start; more bytes abort the transfer.
    ///
    /// Buffered bytes beyond the limit are dropped.  When exactly this many were received the transfer has finished,
    /// even if libcurl still waits for the end.
    package func limitBody(to byteCount: Int64) {
        bodyByteLimit = byteCount
        finishIfWhole()
        guard receivedByteCount > byteCount, let excess = Int(exactly: receivedByteCount - byteCount) else { return }
        receivedByteCount -= Int64(buffers.dropLast(excess))
        exceededLimit = true
        if !isFinished {
            abortion = .bodyTooLong
            session?.finish(self, CURLE_WRITE_ERROR)
        }
    }

    // MARK: The session's side

    /// Ends the transfer when the length of its head or its limit is reached.  Must not be called within a callback.
    func finishIfWhole() {
        guard !isFinished, abortion == nil, isHeadComplete, !isPaused else { return }
        let isWhole = decoder == nil && receivedByteCount == bodyByteLimit || sentByteCount == framing?.byteCount
        if isWhole { session?.finish(self, CURLE_OK) }
    }

    func attach(to multi: borrowing MultiHandle, of session: MultiSession) throws(CurlError) {
        precondition(easy != nil && self.session == nil, "a transfer runs once")
        try easy?.add(to: multi)
        self.session = session
    }

    /// Removes and frees the handle; records the outcome unless the transfer was cancelled (no code).
    func detach(from multi: borrowing MultiHandle, code: CURLcode?) {
        guard let easy = easy.take() else { return }
        multi.remove(easy)
        let metrics = easy.metrics()
        finalMetrics = metrics
        isPaused = false
        session = nil
        guard let code else { return }
        if let failure = failure(code, easy, metrics) { outcome = .failed(failure) } else { outcome = .finished }
    }

    // MARK: The callbacks' side

    private func noteNews() {
        if !hasNews { session?.addNews(self) }
    }

    func receive(_ bytes: UnsafeRawBufferPointer) -> Int {
        if abortion != nil { return abortCode }
        if !isDecoderChosen {
            isDecoderChosen = true
            decoder = compression.map(ContentDecoder.init)
        }
        // libcurl ignores a length next to a transfer coding, even `identity`.
        let promised = framing?.byteCount.map { max(0, $0 - sentByteCount) } ?? .max
        let piece = unsafe UnsafeRawBufferPointer(rebasing: bytes.prefix(Int(clamping: promised)))
        let result = if let decoder { unsafe receiveEncoded(piece, decoder) } else { unsafe receivePlain(piece) }
        guard result == piece.count else { return result }
        sentByteCount += Int64(piece.count)
        if piece.count == bytes.count { return bytes.count }
        exceededLength = true
        abortion = .bodyTooLong
        return abortCode
    }

    private func receivePlain(_ bytes: UnsafeRawBufferPointer) -> Int {
        // 0 when the limit was set below what was already received.
        let allowed = max(0, bodyByteLimit - receivedByteCount)
        let kept = unsafe UnsafeRawBufferPointer(rebasing: bytes.prefix(Int(clamping: allowed)))
        noteNews()
        guard unsafe buffers.append(kept) else {
            isPaused = true
            return Int(CURL_WRITEFUNC_PAUSE)
        }
        receivedByteCount += Int64(kept.count)
        if kept.count < bytes.count {
            exceededLimit = true
            abortion = .bodyTooLong
            return abortCode
        }
        return bytes.count
    }

    private func receiveEncoded(_ bytes: UnsafeRawBufferPointer, _ decoder: ContentDecoder) -> Int {
        noteNews()
        let before = decoder.madeByteCount
        var isDone = false
        do throws(ContentDecoder.Failure) {
            isDone = try unsafe decoder.decode(bytes, into: &buffers)
        } catch {
            abortion = error == .damaged ? .undecodable : .outOfMemory
        }
        receivedByteCount += decoder.madeByteCount - before
        if receivedByteCount > bodyByteLimit {
            receivedByteCount -= Int64(buffers.dropLast(Int(clamping: receivedByteCount - bodyByteLimit)))
            exceededLimit = true
            abortion = .bodyTooLong
        }
        if abortion != nil { return abortCode }
        isPaused = !isDone
        return isDone ? bytes.count : Int(CURL_WRITEFUNC_PAUSE)
    }

    func noteAddress(_ bytes: UnsafeRawBufferPointer) {
        guard triedAddresses.count < Self.maxTriedAddressCount else { return }
        if let address = unsafe SocketAddress(bytes) { triedAddresses.append(address) }
    }

    private static let maxTriedAddressCount = 16

    func receiveHeaderLine(_ bytes: UnsafeRawBufferPointer) -> Int {
        if abortion != nil { return abortCode }
        let wasComplete = recorder.isComplete
        switch unsafe recorder.record(bytes) {
        case .accepted: break
        case .tooLarge: abortion = .headTooLarge
        case .malformed(let field): abortion = .malformedHead(field)
        }
        if abortion != nil { return abortCode }
        // The gate reports what is malformed.
        if recorder.isComplete && !wasComplete { framing = head.flatMap { try? BodyFraming($0) } }
        noteNews()
        return bytes.count
    }

    func noteTLSRecord(_ bytes: UnsafeRawBufferPointer) { unsafe tls.note(bytes) }
}
