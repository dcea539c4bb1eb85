/// How messages are told apart on a byte stream.
package enum Framing: String, Sendable, CaseIterable {
    /// One JSON text a line.
    case line
    /// `Content-Length: N`, an empty line, N bytes; as the Language Server Protocol's base protocol has it.
    case header

    /// Appends a message with what frames it.
    package func append(_ message: [UInt8], to output: inout [UInt8]) {
        switch self {
        case .line:
            output.append(contentsOf: message)
            output.append(UInt8(ascii: "\n"))
        case .header:
            // Exactly this spelling and no other field: some clients split at ": ", some want this name's case.
            output.append(contentsOf: "Content-Length: \(message.count)\r\n\r\n".utf8)
            output.append(contentsOf: message)
        }
    }
}

/// What the user asked for with `--framing`.
package enum FramingChoice: String, Sendable, CaseIterable {
    /// The first text that comes decides, for the whole stream.
    case auto
    /// Lines, whatever comes.
    case line
    /// Headers, whatever comes.
    case header
}

/// What a `FrameDecoder` may be given and give.
package enum FrameLimits {
    /// Bytes of one incoming message, its frame left out.
    package static let messageByteCount = 1 << 20
    /// Bytes of one message's header block.
    package static let headerByteCount = 16 << 10
}

/// What came out of a byte stream.
package enum FrameEvent: Equatable, Sendable {
    /// One message, not yet parsed.
    case message([UInt8])
    /// A message longer than `FrameLimits.messageByteCount`, which is skipped.
    case messageTooLong
    /// No sense can be made of this byte or any later one.
    case unframeable(UnframeableReason)
}

/// Why a stream cannot be taken apart.
package enum UnframeableReason: Equatable, Sendable, CaseIterable {
    /// A NUL in a line: binary data.
    case nulByte
    /// A byte order mark of UTF-16, or a NUL in the stream's first two bytes.
    case utf16
    /// A first byte that begins a small MessagePack array or map, and no UTF-8 character.
    case messagePack
    /// The next message's end is unknown.
    case headerWithoutLength
    /// No name and colon, or a length that is no number, or two that differ.
    case headerMalformed
    /// More than `FrameLimits.headerByteCount`.
    case headerTooLong

    /// One sentence for the person who started the program: what came, and the likely cause.
    package var diagnostic: String {
        switch self {
        case .nulByte:
            "standard input contains NUL bytes; expected JSON as UTF-8 text, one message a line."
        case .utf16:
            "standard input begins with NUL bytes or is UTF-16, which PowerShell's redirections write: send UTF-8."
        case .messagePack:
            "standard input is MessagePack; expected JSON text (in Neovim, use a raw channel, not rpc = true)."
        case .headerWithoutLength:
            "a header block on standard input has no Content-Length."
        case .headerMalformed:
            "a header block on standard input is not made of lines like \"Content-Length: 42\"."
        case .headerTooLong:
            "a header block on standard input is longer than \(FrameLimits.headerByteCount) bytes."
        }
    }
}
