package import Platform
package import RPC

/// Reads messages until the input ends, and passes them to the session.
///
/// Isolation: the thread that calls `run`. It blocks in read(2) and when too much is unanswered, never on the engine.
package struct Reader: Sendable {
    private static let chunkByteCount = 65_536

    private let descriptor: Int32
    private let choice: FramingChoice
    private let inbox: Mailbox<Inbound>
    private let output: OutputQueue
    private let room: Backpressure

    /// - Parameters:
    ///   - room: counts requests that are not answered yet, and answers that the host has not read.
    package init(
        descriptor: Int32,
        choice: FramingChoice,
        inbox: Mailbox<Inbound>,
        output: OutputQueue,
        room: Backpressure
    ) {
        self.descriptor = descriptor
        self.choice = choice
        self.inbox = inbox
        self.output = output
        self.room = room
    }

    /// Returns when nothing more can be read; the session then knows why.
    package func run() {
        var decoder = FrameDecoder(choice: choice)
        var isFramingKnown = false
        while true {
            room.waitForRoom()
            let bytes: [UInt8]
            do throws(Errno) {
                bytes = try readSome(count: Self.chunkByteCount, from: descriptor)
            } catch {
                inbox.send(.inputFailed(error))
                return
            }
            let events = bytes.isEmpty ? decoder.finish() : decoder.feed(bytes)
            if !isFramingKnown, let framing = decoder.framing {
                isFramingKnown = true
                output.setFraming(framing)
                inbox.send(.framing(framing))
            }
            if !pass(events) { return }
            if bytes.isEmpty {
                inbox.send(.endOfInput)
                return
            }
        }
    }

    /// False if the rest of the input cannot be framed.
    private func pass(_ events: [FrameEvent]) -> Bool {
        for event in events {
            switch event {
            case .message(let bytes):
                // Checked before each message, not once per read: a few bytes may request much.
                room.waitForRoom()
                let incoming = Incoming(bytes)
                let byteCount = RequestRoom.byteCount(of: incoming, textByteCount: bytes.count)
                room.add(byteCount: byteCount)
                inbox.send(.incoming(incoming, byteCount: byteCount))
            case .messageTooLong: inbox.send(.messageTooLong)
            case .unframeable(let reason):
                inbox.send(.unframeable(reason))
                return false
            }
        }
        return true
    }
}
