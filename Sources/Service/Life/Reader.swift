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
    private let inFlight: Backpressure
    private let unsent: Backpressure

    /// - Parameters:
    ///   - inFlight: counts the requests that are read and not answered.
    ///   - unsent: counts the answers that the host has not read.
    package init(
        descriptor: Int32,
        choice: FramingChoice,
        inbox: Mailbox<Inbound>,
        output: OutputQueue,
        inFlight: Backpressure,
        unsent: Backpressure
    ) {
        self.descriptor = descriptor
        self.choice = choice
        self.inbox = inbox
        self.output = output
        self.inFlight = inFlight
        self.unsent = unsent
    }

    /// Returns when nothing more can be read; the session has been told why.
    package func run() {
        var decoder = FrameDecoder(choice: choice)
        var isFramingKnown = false
        while true {
            inFlight.waitForRoom()
            unsent.waitForRoom()
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
                inFlight.add(byteCount: bytes.count)
                inbox.send(.incoming(Incoming(bytes), byteCount: bytes.count))
            case .messageTooLong: inbox.send(.messageTooLong)
            case .unframeable(let reason):
                inbox.send(.unframeable(reason))
                return false
            }
        }
        return true
    }
}
