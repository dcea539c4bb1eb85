/// How messages are separated in a byte stream.
package enum Framing: String, Sendable, CaseIterable {
    /// One JSON text per line.
    case line
    /// `Content-Length: N`, an empty line, N bytes; as in the base protocol of the Language Server Protocol.
    case header

    /// Appends a message with its framing.
    package func append(_ message: [UInt8], to output: inout [UInt8]) {
        switch self {
        case .line:
            output.append(contentsOf: message)
            output.append(UInt8(ascii: "\n"))
        case .header:
            // Exactly this spelling and no other field: some clients split at ": ", some require this case.
            output.append(contentsOf: "Content-Length: \(message.count)\r\n\r\n".utf8)
            output.append(contentsOf: message)
        }
    }
}

/// The choice made with `--framing`.
package enum FramingChoice: String, Sendable, CaseIterable {
    /// The first bytes decide, for the whole stream.
    case auto
    /// Always lines.
    case line
    /// Always headers.
    case header
}

/// The limits of a `FrameDecoder`.
package enum FrameLimits {
    /// Bytes of one incoming message, without its framing.
    package static let messageByteCount = 1 << 20
    /// Bytes of one message's header block.
    package static let headerByteCount = 16 << 10
}

/// A result of decoding a byte stream.
package enum FrameEvent: Equatable, Sendable {
    /// One message, not yet parsed.
    case message([UInt8])
    /// A message longer than `FrameLimits.messageByteCount`, which is skipped.
    case messageTooLong
    /// Neither this byte nor any later one can be interpreted.
    case unframeable(UnframeableReason)
}

/// Why a stream cannot be split into messages.
package enum UnframeableReason: Equatable, Sendable, CaseIterable {
    /// A NUL in a line: binary data.
    case nulByte
    /// A byte order mark of UTF-16, or a NUL in the stream's first two bytes.
    case utf16
    /// The first byte begins a small MessagePack array or map, and no UTF-8 character.
    case messagePack
    /// The end of the next message is unknown.
    case headerWithoutLength
    /// No name and colon, a length that is not a number, or two different lengths.
    case headerMalformed
    /// More than `FrameLimits.headerByteCount`.
    case headerTooLong

    /// One sentence for the person who started the program: what was received, and the likely cause.
    package var diagnostic: String {
        switch self {
        case .nulByte:
            "standard input contains NUL bytes; expected JSON as UTF-8 text, one message per line."
        case .utf16:
            "standard input begins with NUL bytes or is UTF-16, as written by PowerShell redirections; send UTF-8."
        case .messagePack:
            "standard input is MessagePack; expected JSON text (in Neovim, use a raw channel, not rpc = true)."
        case .headerWithoutLength:
            "a header block on standard input has no Content-Length."
        case .headerMalformed:
            "a header block on standard input has a line that is not of the form \"Content-Length: 42\"."
        case .headerTooLong:
            "a header block on standard input is longer than \(FrameLimits.headerByteCount) bytes."
        }
    }
}
