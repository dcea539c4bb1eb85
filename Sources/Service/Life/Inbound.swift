package import Platform
package import RPC

/// What comes to the session from other threads, in order.
package enum Inbound: Sendable {
    /// What one frame brought, and how much room it takes until it is answered.
    case incoming(Incoming, byteCount: Int)
    case messageTooLong
    /// The input made its framing known.
    case framing(Framing)
    case unframeable(UnframeableReason)
    case endOfInput
    case inputFailed(Errno)
    case signal(EndSignal)
    /// The process that we were told to watch has ended.
    case hostGone
    /// Nobody reads standard output any more.
    case outputGone
    case outputFailed(Errno)
    /// Nothing but a reason to look around.
    case nudge
}
