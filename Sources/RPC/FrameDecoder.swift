internal import Glibc

/// Splits a byte stream into messages; the bytes may arrive in pieces of any size.
///
/// Each byte is copied at most twice, however long the line and small the pieces. Between two calls it keeps at most
/// one message. Isolation: a value of the reader.
package struct FrameDecoder: Sendable {
    private enum State {
        /// Only white space so far, or too few bytes to recognise the framing.
        case opening
        case line
        /// In a line that is too long, up to its end.
        case lineSkipping
        case header
        case body(missingByteCount: Int)
        case bodySkipping(missingByteCount: Int)
        /// After `unframeable`.
        case dead
    }

    private let choice: FramingChoice
    private var state = State.opening
    /// The message, header line or opening bytes so far.
    private var partial: [UInt8] = []
    /// The number of opening bytes, white space included.
    private var openingByteCount = 0
    private var block = HeaderBlock()

    /// The framing in use; nil until the first byte that is not white space decides it.
    package private(set) var framing: Framing?

    /// A decoder for a new stream.
    package init(choice: FramingChoice) {
        self.choice = choice
    }

    /// Returns the messages that these bytes complete, in order.
    package mutating func feed(_ bytes: borrowing RawSpan) -> [FrameEvent] {
        // Safety: the pointer is used only during the call.
        unsafe bytes.withUnsafeBytes { buffer in unsafe feed(buffer) }
    }

    /// As `feed` of a span.
    package mutating func feed(_ bytes: [UInt8]) -> [FrameEvent] {
        // Safety: the pointer is used only during the call.
        unsafe bytes.withUnsafeBytes { buffer in unsafe feed(buffer) }
    }

    /// Returns what the end of the stream completes: a last line without newline. An incomplete header or body is
    /// dropped.
    package mutating func finish() -> [FrameEvent] {
        var events: [FrameEvent] = []
        if case .opening = state, !partial.isEmpty { settle(choice == .header ? .header : .line, &events) }
        if case .line = state { endLine(&events) }
        state = .dead
        partial = []
        return events
    }

    private mutating func feed(_ bytes: UnsafeRawBufferPointer) -> [FrameEvent] {
        var events: [FrameEvent] = []
        var rest = unsafe bytes[...]
        while unsafe !rest.isEmpty {
            switch state {
            case .opening: unsafe open(rest.removeFirst(), &events)
            case .line, .lineSkipping: unsafe takeLine(&rest, &events)
            case .header: unsafe takeHeaderLine(&rest, &events)
            case .body(let count): unsafe takeBody(&rest, missingByteCount: count, &events)
            case .bodySkipping(let count):
                let part = unsafe min(count, rest.count)
                unsafe rest.removeFirst(part)
                state = part == count ? .header : .bodySkipping(missingByteCount: count - part)
            case .dead: return events
            }
        }
        return events
    }

    private mutating func fail(_ reason: UnframeableReason, _ events: inout [FrameEvent]) {
        events.append(.unframeable(reason))
        state = .dead
        partial = []
    }
}

// The opening: byte order marks, white space, and the choice of framing.
extension FrameDecoder {
    private mutating func open(_ byte: UInt8, _ events: inout [FrameEvent]) {
        let offset = openingByteCount
        openingByteCount += 1
        // ASCII in UTF-16 has a NUL among its first two bytes.
        if byte == 0 { return fail(offset < 2 ? .utf16 : .nulByte, &events) }
        if partial.isEmpty && isBlank(byte) {
            // The count must not overflow, however much white space arrives.
            openingByteCount = min(openingByteCount, 2)
            return
        }
        partial.append(byte)
        if offset == partial.count - 1 {
            switch partial {
            case [0xEF], [0xEF, 0xBB], [0xFE], [0xFF]: return
            case [0xEF, 0xBB, 0xBF]: return partial = []
            case [0xFE, 0xFF], [0xFF, 0xFE]: return fail(.utf16, &events)
            default: break
            }
        }
        // A MessagePack array or map; no UTF-8 character begins like this.
        if (0x80...0x9F).contains(partial[0]) { return fail(.messagePack, &events) }
        // The second byte of the stream may be the NUL that reveals UTF-16.
        if offset == 0 { return }
        switch choice {
        case .line: settle(.line, &events)
        case .header: settle(.header, &events)
        case .auto:
            switch HeaderBlock.looksLikeHeader(partial) {
            case true?: settle(.header, &events)
            case false?: settle(.line, &events)
            case nil: break
            }
        }
    }

    private mutating func settle(_ framing: Framing, _ events: inout [FrameEvent]) {
        self.framing = framing
        state = framing == .line ? .line : .header
        let opening = partial
        partial = []
        events += feed(opening)
    }
}

extension FrameDecoder {
    private mutating func takeLine(_ rest: inout Slice<UnsafeRawBufferPointer>, _ events: inout [FrameEvent]) {
        let (segment, isComplete) = unsafe takeSegment(&rest)
        if unsafe contains(0, segment) { return fail(.nulByte, &events) }
        // One more than the limit, for a carriage return, which does not count.
        if case .line = state, unsafe segment.count > FrameLimits.messageByteCount + 1 - partial.count {
            events.append(.messageTooLong)
            state = .lineSkipping
            partial = []
        }
        if case .line = state {
            unsafe partial.append(contentsOf: segment)
            if isComplete { endLine(&events) }
        } else if isComplete {
            state = .line
        }
    }

    private mutating func endLine(_ events: inout [FrameEvent]) {
        var line = partial
        partial = []
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        if line.count > FrameLimits.messageByteCount {
            events.append(.messageTooLong)
        } else if !line.allSatisfy(isBlank) {
            events.append(.message(line))
        }
    }

    private mutating func takeHeaderLine(_ rest: inout Slice<UnsafeRawBufferPointer>, _ events: inout [FrameEvent]) {
        let (segment, isComplete) = unsafe takeSegment(&rest)
        if unsafe segment.count > FrameLimits.headerByteCount - block.byteCount - partial.count {
            return fail(.headerTooLong, &events)
        }
        unsafe partial.append(contentsOf: segment)
        if !isComplete { return }
        var line = partial
        partial = []
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        switch block.take(line) {
        case .more: break
        case .malformed: fail(.headerMalformed, &events)
        case .end(nil): fail(.headerWithoutLength, &events)
        case .end(let count?):
            block = HeaderBlock()
            beginBody(byteCount: count, &events)
        }
    }

    private mutating func beginBody(byteCount: Int, _ events: inout [FrameEvent]) {
        if byteCount == 0 {
            events.append(.message([]))
        } else if byteCount > FrameLimits.messageByteCount {
            events.append(.messageTooLong)
            state = .bodySkipping(missingByteCount: byteCount)
        } else {
            partial.reserveCapacity(byteCount)
            state = .body(missingByteCount: byteCount)
        }
    }

    private mutating func takeBody(
        _ rest: inout Slice<UnsafeRawBufferPointer>, missingByteCount: Int, _ events: inout [FrameEvent]
    ) {
        let part = unsafe min(missingByteCount, rest.count)
        unsafe partial.append(contentsOf: rest.prefix(part))
        unsafe rest.removeFirst(part)
        if part < missingByteCount {
            state = .body(missingByteCount: missingByteCount - part)
            return
        }
        events.append(.message(partial))
        partial = []
        state = .header
    }
}

/// Takes the bytes before the next newline, and the newline; all bytes when there is none.
private func takeSegment(
    _ rest: inout Slice<UnsafeRawBufferPointer>
) -> (segment: Slice<UnsafeRawBufferPointer>, isComplete: Bool) {
    guard let end = unsafe index(of: UInt8(ascii: "\n"), in: rest) else {
        let segment = unsafe rest
        unsafe rest = rest.suffix(0)
        return unsafe (segment, false)
    }
    let segment = unsafe rest[..<end]
    unsafe rest = rest[(end + 1)...]
    return unsafe (segment, true)
}

private func contains(_ byte: UInt8, _ bytes: Slice<UnsafeRawBufferPointer>) -> Bool {
    unsafe index(of: byte, in: bytes) != nil
}

// C: memchr(3), because our own loop over every byte would take many times as long.
private func index(of byte: UInt8, in bytes: Slice<UnsafeRawBufferPointer>) -> Int? {
    let memory = unsafe UnsafeRawBufferPointer(rebasing: bytes)
    guard let start = memory.baseAddress, let hit = unsafe memchr(start, Int32(byte), memory.count) else { return nil }
    return unsafe bytes.startIndex + (UnsafeRawPointer(hit) - start)
}

/// True for JSON's white space.
func isBlank(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") || byte == UInt8(ascii: "\r") || byte == UInt8(ascii: "\n")
}
