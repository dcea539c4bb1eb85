internal import Glibc

/// Opens /dev/null for those of standard input, output and error that were closed at exec, so that no file of ours gets
/// their numbers; returns which were closed.
package func occupyStandardStreams() -> [Int32] {
    var closed: [Int32] = []
    for raw: Int32 in 0...2 where fcntl(raw, F_GETFD) < 0 {
        closed.append(raw)
        // The lowest free number is this one: those below are open by now.
        _ = unsafe open("/dev/null", raw == 0 ? O_RDONLY : O_WRONLY)
    }
    return closed
}

/// Moves standard output to a private descriptor and points descriptor 1 at standard error, so that output printed by a
/// library cannot break the stream of messages.  C: fcntl(2) F_DUPFD_CLOEXEC, dup2(2)
package func takeStandardOutput() throws(Errno) -> FileDescriptor {
    let output = FileDescriptor(owning: try valueOrErrno { fcntl(1, F_DUPFD_CLOEXEC, 3) })
    _ = try valueOrErrno { dup2(2, 1) }
    return output
}

/// True when the descriptor is a terminal.  C: isatty(3)
package func isTerminal(_ raw: Int32) -> Bool {
    isatty(raw) == 1
}

/// Writes what the descriptor accepts in one call; returns how much.  C: write(2)
package func writeSome(_ bytes: [UInt8], to raw: Int32) throws(Errno) -> Int {
    try valueOrErrno { unsafe bytes.withUnsafeBytes { unsafe write(raw, $0.baseAddress, $0.count) } }
}

/// One descriptor to wait for, with the result.
package struct PollRequest: Sendable {
    /// Negative ones are ignored.
    package var descriptor: Int32
    /// False: only its end (POLLERR, POLLHUP) counts.
    package var wantsInput: Bool
    /// There is input, or its end.
    package var isReadable = false
    /// The other end is closed, or the descriptor is invalid.
    package var isBroken = false

    /// Asks about one descriptor.
    package init(_ descriptor: Int32, wantsInput: Bool) {
        self.descriptor = descriptor
        self.wantsInput = wantsInput
    }
}

/// Sleeps until one of the descriptors is ready or the time is up; a negative time means no limit.  C: poll(2)
package func waitForNews(_ requests: inout [PollRequest], timeoutMilliseconds: Int32) {
    var polls = requests.map { pollfd(fd: $0.descriptor, events: $0.wantsInput ? Int16(POLLIN) : 0, revents: 0) }
    let count = unsafe poll(&polls, nfds_t(polls.count), timeoutMilliseconds)
    for (index, poll) in polls.enumerated() {
        let news = count > 0 ? Int32(poll.revents) : 0
        requests[index].isReadable = news & Int32(POLLIN) != 0
        requests[index].isBroken = news & Int32(POLLERR | POLLHUP | POLLNVAL) != 0
    }
}

/// Reads the available bytes and waits for the first; empty at the end of the input.  C: read(2)
package func readSome(count: Int, from raw: Int32) throws(Errno) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    while true {
        do throws(Errno) {
            // Safety: the buffer outlives the call, and the size is its own.
            let part = try valueOrErrno {
                unsafe bytes.withUnsafeMutableBytes { unsafe read(raw, $0.baseAddress, $0.count) }
            }
            bytes.removeLast(count - part)
            return bytes
        } catch {
            // Hosts share their pipes with us, and some make them non-blocking.
            if error != .wouldBlock { throw error }
            var request = [PollRequest(raw, wantsInput: true)]
            waitForNews(&request, timeoutMilliseconds: -1)
        }
    }
}
