package import Platform
package import RPC

/// Reads messages until the input ends, and hands them to the session.
///
/// Isolation: the thread that calls `run`, which blocks in read(2) and for room, never for the engine.
package struct Reader: Sendable {
    private static let chunkByteCount = 65_536

    private let descriptor: Int32
    private let choice: FramingChoice
    private let inbox: Mailbox<Inbound>
    private let output: OutputQueue
    private let room: Backpressure

    /// - Parameters:
    ///   - room: counts the requests that are read and not answered, and the answers that the host has not read.
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

    /// Returns when nothing more can be read; the session has been told why.
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

    /// False when no sense can be made of the rest.
    private func pass(_ events: [FrameEvent]) -> Bool {
        for event in events {
            switch event {
            case .message(let bytes):
                // Before each, not once for all that came at a time: a few bytes may ask for much.
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
