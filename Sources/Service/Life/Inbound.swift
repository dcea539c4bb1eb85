package import Platform
package import RPC

/// Messages to the session from other threads, in order.
package enum Inbound: Sendable {
    /// The content of one frame, and how many bytes it reserves until it is answered.
    case incoming(Incoming, byteCount: Int)
    case messageTooLong
    /// The framing was detected.
    case framing(Framing)
    case unframeable(UnframeableReason)
    case endOfInput
    case inputFailed(Errno)
    case signal(EndSignal)
    /// The watched process has exited.
    case hostGone
    /// Standard output was closed by its reader.
    case outputGone
    case outputFailed(Errno)
    /// Only wakes up the session.
    case nudge
}
