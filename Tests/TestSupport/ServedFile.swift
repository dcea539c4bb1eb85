/// A file on a `ScriptedServer`: bytes, validators, ranges, and options for what servers do wrong.
package struct ServedFile: Sendable {
    package var bytes: [UInt8]
    package var etag: String?
    package var lastModified: String?
    package var date: String? = "Sun, 01 Jun 2025 00:00:00 GMT"
    package var contentType = "application/octet-stream"
    package var extraFields: [(String, String)] = []

    /// Always 200 with all bytes.
    package var ignoresRanges = false
    /// Answers a range even if its If-Range names another version.
    package var ignoresIfRange = false
    /// In chunks, without a length.
    package var isChunked = false
    /// Without a length, up to the end of the connection.
    package var isUntilClose = false
    /// Closes the connection after this many body bytes of each response.
    package var dropAfterByteCount: Int?
    /// Resets the connection instead of closing it.
    package var resetsOnDrop = false
    /// Sends nothing more after this many body bytes of each response.
    package var stallAfterByteCount: Int?
    /// The statuses of the first requests for this target, one for each request.
    package var statusOverrides: [Int] = []
    /// Sends the body in pieces of that size.
    package var pieceByteCount: Int?
    package var pieceDelayMilliseconds: Int32 = 0
    /// Sends the head only when this signal is set.
    package var beforeHead: Signal?
    /// Sends the body only when this signal is set.
    package var beforeBody: Signal?
    /// Sends this many body bytes, and the rest only when the signal is set.
    package var middle: (byteCount: Int, signal: Signal)?

    package init(bytes: [UInt8], etag: String? = nil, lastModified: String? = nil) {
        self.bytes = bytes
        self.etag = etag
        self.lastModified = lastModified
    }

    func actions(for request: ScriptedServer.Request) -> [ScriptedServer.Action] {
        let waiting = beforeHead.map { [ScriptedServer.Action.wait($0)] } ?? []
        return waiting + answer(to: request)
    }

    private func answer(to request: ScriptedServer.Request) -> [ScriptedServer.Action] {
        if request.occurrence < statusOverrides.count {
            return simple(statusOverrides[request.occurrence], [])
        }
        if let wanted = request.value("If-Match"), wanted != etag { return simple(412, validators) }
        guard let text = request.value("Range"), !ignoresRanges, mayAnswerRange(request) else {
            return head(200, [], bytes.count) + body(bytes[...])
        }
        guard let range = Self.range(text, bytes.count) else {
            return simple(416, validators + [("Content-Range", "bytes */\(bytes.count)")])
        }
        let contentRange = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(bytes.count)"
        return head(206, [("Content-Range", contentRange)], range.count) + body(bytes[range])
    }

    private func mayAnswerRange(_ request: ScriptedServer.Request) -> Bool {
        guard let wanted = request.value("If-Range"), !ignoresIfRange else { return true }
        return wanted == etag || wanted == lastModified
    }

    private var validators: [(String, String)] {
        [("Date", date), ("ETag", etag), ("Last-Modified", lastModified)].compactMap { name, value in
            value.map { (name, $0) }
        }
    }

    private func simple(_ code: Int, _ fields: [(String, String)]) -> [ScriptedServer.Action] {
        [.send(ScriptedServer.Response.head(code, fields + [("Content-Length", "0")]))]
    }

    private func head(_ code: Int, _ fields: [(String, String)], _ byteCount: Int) -> [ScriptedServer.Action] {
        var fields = fields + validators + [("Content-Type", contentType)] + extraFields
        if !ignoresRanges { fields.append(("Accept-Ranges", "bytes")) }
        if isChunked {
            fields.append(("Transfer-Encoding", "chunked"))
        } else if isUntilClose {
            fields.append(("Connection", "close"))
        } else {
            fields.append(("Content-Length", "\(byteCount)"))
        }
        let waiting = beforeBody.map { [ScriptedServer.Action.wait($0)] } ?? []
        return [.send(ScriptedServer.Response.head(code, fields))] + waiting
    }

    private func body(_ bytes: ArraySlice<UInt8>) -> [ScriptedServer.Action] {
        if let count = dropAfterByteCount, count < bytes.count {
            return pieces(bytes.prefix(count)) + [resetsOnDrop ? .reset : .close]
        }
        if let count = stallAfterByteCount, count < bytes.count {
            return pieces(bytes.prefix(count)) + [.stall]
        }
        var actions: [ScriptedServer.Action]
        if let middle, middle.byteCount < bytes.count {
            actions = pieces(bytes.prefix(middle.byteCount)) + [.wait(middle.signal)]
            actions += pieces(bytes.dropFirst(middle.byteCount))
        } else {
            actions = pieces(bytes)
        }
        if isChunked { actions.append(.send("0\r\n\r\n")) }
        if isUntilClose { actions.append(.close) }
        return actions
    }

    private func pieces(_ bytes: ArraySlice<UInt8>) -> [ScriptedServer.Action] {
        var actions: [ScriptedServer.Action] = []
        var rest = bytes
        while !rest.isEmpty {
            let piece = rest.prefix(pieceByteCount ?? rest.count)
            rest = rest.dropFirst(piece.count)
            if isChunked { actions.append(.send(String(piece.count, radix: 16) + "\r\n")) }
            actions.append(.send(Array(piece)))
            if isChunked { actions.append(.send("\r\n")) }
            if pieceDelayMilliseconds > 0 { actions.append(.delay(milliseconds: pieceDelayMilliseconds)) }
        }
        return actions
    }

    /// A range in one of its three forms, clipped to the file; nil when it cannot be satisfied (RFC 9110, 14.1.2).
    private static func range(_ text: String, _ byteCount: Int) -> Range<Int>? {
        guard text.hasPrefix("bytes=") else { return nil }
        let parts = text.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
        guard parts.count == 2 else { return nil }
        switch (parts[0], parts[1]) {
        case (let first?, let last?) where first <= last && first < byteCount:
            return first..<min(last + 1, byteCount)
        case (let first?, nil) where first < byteCount: return first..<byteCount
        case (nil, let suffix?) where suffix > 0 && byteCount > 0: return max(0, byteCount - suffix)..<byteCount
        default: return nil
        }
    }
}
