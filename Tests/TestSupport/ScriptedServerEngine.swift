internal import Glibc
internal import Platform

/// The threads of a `ScriptedServer`; a separate object, so that they do not keep the server alive.
final class ScriptedServerEngine: Sendable {
    struct State {
        var exchanges: [ScriptedServer.Exchange] = []
        var connectionCount = 0
        /// The sockets of open connections.
        var sockets: [Int: Int32] = [:]
        var threads: [Platform.Thread] = []
        var isStopping = false
        var waiters: [Waiter] = []
    }
    struct Waiter {
        var isReady: @Sendable (State) -> Bool
        var continuation: CheckedContinuation<Void, Never>
    }
    static let maxHeadByteCount = 64 * 1024

    let state = Guarded(State())
    let port: UInt16
    let stopSignal: Signal
    private let listener: FileDescriptor
    private let respond: @Sendable (ScriptedServer.Request) -> ScriptedServer.Response

    init(_ respond: @escaping @Sendable (ScriptedServer.Request) -> ScriptedServer.Response) throws(Errno) {
        let listener = FileDescriptor(owning: try valueOrErrno { socket(AF_INET, cloexecStream, 0) })
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let raw = listener.raw
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = try valueOrErrno { withSocketAddress(&address) { bind(raw, $0, length) } }
        _ = try valueOrErrno { listen(raw, 1_024) }
        _ = try valueOrErrno { withSocketAddress(&address) { getsockname(raw, $0, &length) } }
        port = UInt16(bigEndian: address.sin_port)
        stopSignal = try Signal()
        self.listener = listener
        self.respond = respond
    }

    func start() throws(Errno) {
        let thread = try Platform.Thread(name: "test-accept") { [self] in acceptAll() }
        state.withLock { $0.threads.append(thread) }
    }

    func stop() {
        let isFirst = state.withLock { state in
            defer { state.isStopping = true }
            return !state.isStopping
        }
        if !isFirst { return }
        stopSignal.set()
        _ = shutdown(listener.raw, Int32(SHUT_RDWR))
        // Interrupts send and recv; the connection's thread closes the socket.
        state.withLock { state in for socket in state.sockets.values { _ = shutdown(socket, Int32(SHUT_RDWR)) } }
        while let thread = state.withLock({ $0.threads.popLast() }) { thread.join() }
        // No more requests will arrive: resume those that wait for them.
        change { _ in }
    }

    /// Suspends until the predicate is true, or the server has stopped.
    func wait(until isReady: @escaping @Sendable (State) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isDone = state.withLock { state in
                if isReady(state) || state.isStopping { return true }
                state.waiters.append(Waiter(isReady: isReady, continuation: continuation))
                return false
            }
            if isDone { continuation.resume() }
        }
    }

    /// Changes the state and resumes those that waited for the change.
    private func change(_ body: (inout State) -> Void) {
        let ready = state.withLock { state in
            body(&state)
            var ready: [CheckedContinuation<Void, Never>] = []
            var left: [Waiter] = []
            for waiter in state.waiters {
                if state.isStopping || waiter.isReady(state) {
                    ready.append(waiter.continuation)
                } else {
                    left.append(waiter)
                }
            }
            state.waiters = left
            return ready
        }
        for continuation in ready { continuation.resume() }
    }

    private func acceptAll() {
        while true {
            let raw = accept(listener.raw, nil, nil)
            if raw < 0 {
                if state.withLock({ $0.isStopping }) { return }
                continue
            }
            _ = fcntl(raw, F_SETFD, FD_CLOEXEC)
            var on: Int32 = 1
            _ = setsockopt(raw, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
            let number = state.withLock { state -> Int? in
                if state.isStopping { return nil }
                state.connectionCount += 1
                state.sockets[state.connectionCount - 1] = raw
                return state.connectionCount - 1
            }
            let thread = number.flatMap { number in
                try? Platform.Thread(name: "test-\(number)") { [self] in serve(raw, number) }
            }
            if let thread {
                state.withLock { $0.threads.append(thread) }
            } else {
                _ = Glibc.close(raw)
                if number == nil { return }
            }
        }
    }

    private func serve(_ socket: Int32, _ number: Int) {
        var connection = ScriptedConnection(socket: socket, stop: stopSignal)
        while let head = connection.readHead(), var request = ScriptedServer.Request(head: head) {
            request.connection = number
            request = record(request)
            let actions = respond(request).actions(request)
            let isOpen = connection.run(actions) { [index = request.index] count in
                state.withLock { $0.exchanges[index].sentByteCount += count }
            }
            change { [index = request.index] in $0.exchanges[index].isFinished = true }
            if !isOpen || request.endsConnection { break }
        }
        // Removed from the table first, so that `stop` never shuts down a descriptor that has been reused.
        state.withLock { $0.sockets[number] = nil }
        _ = Glibc.close(socket)
    }

    private func record(_ request: ScriptedServer.Request) -> ScriptedServer.Request {
        var request = request
        change { state in
            request.index = state.exchanges.count
            request.occurrence = state.exchanges.count { $0.request.target == request.target }
            state.exchanges.append(ScriptedServer.Exchange(request: request))
        }
        return request
    }
}

private let cloexecStream = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)

private func withSocketAddress(
    _ address: inout sockaddr_in, _ body: (UnsafeMutablePointer<sockaddr>) -> Int32
) -> Int32 {
    withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1, body)
    }
}
