internal import Core
internal import RPC

/// Parses the command line with one table, from which the help is generated too.
package enum CommandLineParser {
    struct Option: Sendable {
        var name: String
        /// The placeholder of the value in the help; nil if the option takes none.
        var valueName: String?
        var help: String
        /// Receives the value; an empty string if the option takes none.
        var apply: @Sendable (inout CommandLineOptions, String) throws(UsageError) -> Void
    }

    /// Parses the arguments; the program's name is not one of them.
    ///
    /// - Parameter environmentLogLevel: the value of `TOWLINE_LOG`, which `--log-level` overrides.
    package static func parse(
        _ arguments: [String],
        environmentLogLevel: String? = nil
    ) throws(UsageError) -> CommandLineOptions {
        var options = CommandLineOptions()
        if let text = environmentLogLevel, let level = LogLevel(rawValue: text) { options.logLevel = level }
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            guard argument.hasPrefix("-") else {
                throw UsageError("unexpected argument '\(argument)': messages are read from standard input")
            }
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts[0])
            guard let option = table.first(where: { $0.name == name }) else { throw unknown(name) }
            try option.apply(&options, value(for: option, given: parts.dropFirst().first.map(String.init), &rest))
        }
        return options
    }

    private static func value(
        for option: Option,
        given: String?,
        _ rest: inout ArraySlice<String>
    ) throws(UsageError) -> String {
        guard let valueName = option.valueName else {
            if given != nil { throw UsageError("option '\(option.name)' takes no value") }
            return ""
        }
        guard let value = given ?? rest.popFirst() else {
            throw UsageError("option '\(option.name)' needs a value: \(valueName)")
        }
        return value
    }

    private static func unknown(_ name: String) -> UsageError {
        guard let nearest = Spelling.nearest(to: name, in: table.map(\.name)) else {
            return UsageError("unknown option '\(name)'")
        }
        return UsageError("unknown option '\(name)': did you mean '\(nearest)'?")
    }

    /// All options, in the order of the help.
    static let table: [Option] = [
        Option(
            name: "--app",
            valueName: "NAME",
            help: "name of the application; each has its own downloads (default: default)"
        ) { options, value throws(UsageError) in
            guard Limits.isDownloadID(value) else {
                throw UsageError("option '--app' needs 1 to 64 letters, digits, '.', '_' or '-', got '\(value)'")
            }
            options.application = value
        },
        Option(
            name: "--state-dir",
            valueName: "DIR",
            help: "where the state is stored (default: <XDG state home>/towline/NAME)"
        ) { options, value throws(UsageError) in options.stateDirectory = try path(value, of: "--state-dir") },
        Option(
            name: "--root",
            valueName: "DIR",
            help: "write files in this directory only; can be given several times"
        ) { options, value throws(UsageError) in options.roots.append(try path(value, of: "--root")) },
        Option(
            name: "--framing",
            valueName: "auto|line|header",
            help: "framing of messages (default: auto, detected from the first line)"
        ) { options, value throws(UsageError) in options.framing = try choice(value, of: "--framing") },
        Option(
            name: "--on-host-exit",
            valueName: "finish|suspend",
            help: "what to do with unfinished downloads when the host exits"
        ) { options, value throws(UsageError) in options.hostExitPolicy = try choice(value, of: "--on-host-exit") },
        Option(name: "--resume-on-start", help: "resume interrupted downloads at start") { options, _ in
            options.resumesOnStart = true
        },
        Option(
            name: "--clientProcessId",
            valueName: "PID",
            help: "process id of the host; its exit counts as the host's exit"
        ) { options, value throws(UsageError) in
            guard let id = Int64(value), id > 0 else {
                throw UsageError("option '--clientProcessId' needs a process id, got '\(value)'")
            }
            options.clientProcessID = id
        },
        Option(
            name: "--proxy-from-environment",
            help: "use http_proxy, https_proxy, all_proxy and no_proxy"
        ) { options, _ in options.usesEnvironmentProxies = true },
        Option(name: "--allow-network-state", help: "accept a state directory on a network file system") {
            options, _ in options.allowsNetworkState = true
        },
        Option(
            name: "--tls-key-log",
            valueName: "FILE",
            help: "append the keys that decrypt TLS connections (SSLKEYLOGFILE is ignored)"
        ) { options, value throws(UsageError) in
            if value.isEmpty { throw UsageError("option '--tls-key-log' needs a file, got ''") }
            options.tlsKeyLogPath = value
        },
        Option(
            name: "--log-level",
            valueName: "error|warn|info|debug",
            help: "level of the log on standard error (default: warn, or $TOWLINE_LOG)"
        ) { options, value throws(UsageError) in options.logLevel = try choice(value, of: "--log-level") },
        Option(name: "--log-format", valueName: "text|json", help: "format of the log (default: text)") {
            options, value throws(UsageError) in options.logFormat = try choice(value, of: "--log-format")
        },
        Option(name: "--stdio", help: "accepted for editors; has no effect") { _, _ in },
        Option(name: "--print-openrpc", help: "print the OpenRPC document and exit") { options, _ in
            options.action = .printOpenRPC
        },
        Option(name: "--version", help: "print the version and exit") { options, _ in options.action = .printVersion },
        Option(name: "--help", help: "print this help and exit") { options, _ in options.action = .printHelp },
    ]

    private static func path(_ value: String, of option: String) throws(UsageError) -> String {
        if value.isEmpty { throw UsageError("option '\(option)' needs a directory, got ''") }
        return value
    }

    private static func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ value: String,
        of option: String
    ) throws(UsageError) -> Choice {
        if let choice = Choice(rawValue: value) { return choice }
        let choices = Choice.allCases.map(\.rawValue).joined(separator: ", ")
        throw UsageError("option '\(option)' needs one of \(choices), got '\(value)'")
    }
}
