package import RPC

/// What the process does about its downloads when its host has gone.
package enum HostExitPolicy: String, Sendable, CaseIterable {
    /// Goes on in silence until they have settled.
    case finish
    /// Checkpoints and ends.
    case suspend
}

/// What the command line says, defaults filled in.
package struct CommandLineOptions: Equatable, Sendable {
    /// What the process is to do.
    package enum Action: Sendable {
        case serve
        case printOpenRPC
        case printVersion
        case printHelp
    }
    package var action = Action.serve
    /// Tells the downloads of different programs apart; a name fit for a directory.
    package var application = "default"
    /// Nil: below the user's state home, by application.
    package var stateDirectory: String?
    package var framing = FramingChoice.auto
    /// Nil: what the protocol says for each way of losing the host.
    package var hostExitPolicy: HostExitPolicy?
    package var logLevel = LogLevel.warn
    package var logFormat = LogFormat.text
    package var resumesOnStart = false
    package var clientProcessID: Int64?
    /// Destinations must be in one of these directories; empty: anywhere.
    package var roots: [String] = []
    package var allowsNetworkState = false

    package init() {}
}

/// A command line that cannot be followed; the message is one line for people.
package struct UsageError: Error, Equatable, Sendable {
    package var message: String

    package init(_ message: String) {
        self.message = message
    }
}
