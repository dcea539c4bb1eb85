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
    /// What is asked for.
    package var action = Action.serve
    /// Tells the downloads of different programs apart; a name fit for a directory.
    package var application = "default"
    /// Nil: below the user's state home, by application.
    package var stateDirectory: String?
    /// How messages are told apart.
    package var framing = FramingChoice.auto
    /// Nil: what the protocol says for each way of losing the host.
    package var hostExitPolicy: HostExitPolicy?
    /// What goes to standard error.
    package var logLevel = LogLevel.warn
    /// How it is written there.
    package var logFormat = LogFormat.text
    /// Interrupted downloads go on without being asked.
    package var resumesOnStart = false
    /// The host's process, if it is there: its end is the host's.
    package var clientProcessID: Int64?
    /// Destinations must be in one of these directories; empty: anywhere.
    package var roots: [String] = []
    /// Requests go through the proxies that `http_proxy` and the like name.
    package var usesEnvironmentProxies = false
    /// Where the keys of TLS connections are appended to; nil: nowhere.
    package var tlsKeyLogPath: String?
    /// The state directory may be on a network file system.
    package var allowsNetworkState = false

    /// What holds when nothing is given.
    package init() {}
}

/// A command line that cannot be followed; the message is one line for people.
package struct UsageError: Error, Equatable, Sendable {
    /// What was wrong, without the program's name.
    package var message: String

    /// An error with this message.
    package init(_ message: String) {
        self.message = message
    }
}
