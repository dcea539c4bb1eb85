package import RPC

/// What the process does with its downloads when its host has exited.
package enum HostExitPolicy: String, Sendable, CaseIterable {
    /// Continues without output until they are settled.
    case finish
    /// Stores their state, then exits.
    case suspend
}

/// The options of the command line, with defaults filled in.
package struct CommandLineOptions: Equatable, Sendable {
    /// What the process is to do.
    package enum Action: Sendable {
        case serve
        case printOpenRPC
        case printVersion
        case printHelp
    }
    /// What the command line asks for.
    package var action = Action.serve
    /// Each application has its own downloads. Also used as the name of a directory.
    package var application = "default"
    /// Nil: a directory for the application in the user's state home.
    package var stateDirectory: String?
    /// The framing of messages.
    package var framing = FramingChoice.auto
    /// Nil: the protocol decides, depending on how the host was lost.
    package var hostExitPolicy: HostExitPolicy?
    /// Which lines are logged to standard error.
    package var logLevel = LogLevel.warn
    package var logFormat = LogFormat.text
    /// Interrupted downloads are resumed without a request.
    package var resumesOnStart = false
    /// The host's process, if known: its exit counts as the host's exit.
    package var clientProcessID: Int64?
    /// Destinations must be in one of these directories; empty: anywhere.
    package var roots: [String] = []
    /// Requests use the proxies in `http_proxy` and similar variables.
    package var usesEnvironmentProxies = false
    /// The file to which the keys of TLS connections are appended; nil: none.
    package var tlsKeyLogPath: String?
    /// The state directory may be on a network file system.
    package var allowsNetworkState = false

    /// The defaults.
    package init() {}
}

/// A command line that is not valid; the message is one line for people.
package struct UsageError: Error, Equatable, Sendable {
    /// What was wrong, without the program's name.
    package var message: String

    /// An error with this message.
    package init(_ message: String) {
        self.message = message
    }
}
