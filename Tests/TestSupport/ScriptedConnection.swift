internal import Glibc

/// One connection of a `ScriptedServer`, on its thread.
struct ScriptedConnection {
    private let socket: Int32
    private let stop: Signal
    /// Bytes read after the last request.
    private var pending: [UInt8] = []

    init(socket: Int32, stop: Signal) {
        self.socket = socket
        self.stop = stop
    }

    /// The head of the next request without its last line end; nil when the connection ends or the head is too long.
    mutating func readHead() -> [UInt8]? {
        let end = Array("\r\n\r\n".utf8)
        while pending.count < ScriptedServerEngine.maxHeadByteCount {
            if let range = pending.firstRange(of: end) {
                let head = Array(pending[..<range.lowerBound])
                pending.removeSubrange(..<range.upperBound)
                return head
            }
            var bytes = [UInt8](repeating: 0, count: 16_384)
            let count = recv(socket, &bytes, bytes.count, 0)
            if count <= 0 { return nil }
            pending += bytes.prefix(count)
        }
        return nil
    }

    /// Runs the actions; false when the connection has ended.
    ///
    /// - Parameter didSend: gets the byte count of each part that the kernel accepted.
    func run(_ actions: [ScriptedServer.Action], didSend: (Int) -> Void) -> Bool {
        for action in actions {
            switch action {
            case .send(let bytes):
                if !send(bytes, didSend) { return false }
            case .wait(let signal):
                _ = wait(for: [signal.descriptor, stop.descriptor], -1)
                if stop.isSet { return false }
            case .set(let signal):
                signal.set()
            case .delay(let milliseconds):
                if wait(for: [stop.descriptor], milliseconds) { return false }
            case .stall:
                // Readable when the peer closes or sends, which we do not expect.
                _ = wait(for: [socket, stop.descriptor], -1)
                return false
            case .close:
                _ = shutdown(socket, Int32(SHUT_WR))
                return false
            case .reset:
                var option = linger(l_onoff: 1, l_linger: 0)
                _ = setsockopt(socket, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
                return false
            }
        }
        return true
    }

    private func send(_ bytes: [UInt8], _ didSend: (Int) -> Void) -> Bool {
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                Glibc.send(
                    socket, buffer.baseAddress.map { $0 + done }, bytes.count - done, Int32(MSG_NOSIGNAL))
            }
            if count < 0 && errno == EINTR { continue }
            if count <= 0 { return false }
            done += count
            didSend(count)
        }
        return true
    }

    /// True when one of the descriptors is readable, false when the time is up.
    private func wait(for descriptors: [Int32], _ timeoutMilliseconds: Int32) -> Bool {
        var requests = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        while true {
            let count = poll(&requests, nfds_t(requests.count), timeoutMilliseconds)
            if count >= 0 || errno != EINTR { return count > 0 }
        }
    }
}
