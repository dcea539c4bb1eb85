import RPC
import Testing

@testable import Service

@Suite struct CommandLineTests {
    private func changed(_ change: (inout CommandLineOptions) -> Void) -> CommandLineOptions {
        var options = CommandLineOptions()
        change(&options)
        return options
    }

    @Test func `nothing given means the defaults`() throws {
        #expect(try CommandLineParser.parse([]) == CommandLineOptions())
    }

    @Test(arguments: [["--app", "x"], ["--app=x"]])
    func `a value may follow or be joined`(arguments: [String]) throws {
        #expect(try CommandLineParser.parse(arguments) == changed { $0.application = "x" })
    }

    @Test func `every option does what it says`() throws {
        let options = try CommandLineParser.parse([
            "--app", "editor", "--state-dir=/s=t", "--root", "/a", "--root=/b", "--framing", "header",
            "--on-host-exit", "finish", "--resume-on-start", "--clientProcessId=42", "--allow-network-state",
            "--log-level=debug", "--log-format", "json", "--stdio", "--tls-key-log", "/k",
        ])
        let expected = changed {
            $0.application = "editor"
            $0.stateDirectory = "/s=t"
            $0.roots = ["/a", "/b"]
            $0.framing = .header
            $0.hostExitPolicy = .finish
            $0.resumesOnStart = true
            $0.clientProcessID = 42
            $0.allowsNetworkState = true
            $0.tlsKeyLogPath = "/k"
            $0.logLevel = .debug
            $0.logFormat = .json
        }
        #expect(options == expected)
    }

    @Test(arguments: [
        (["--nope"], "unknown option '--nope'"),
        (["--framng=line"], "unknown option '--framng': did you mean '--framing'?"),
        (["-h"], "unknown option '-h'"),
        (["file"], "unexpected argument 'file': messages are read from standard input"),
        (["--state-dir"], "option '--state-dir' needs a value: DIR"),
        (["--state-dir="], "option '--state-dir' needs a directory, got ''"),
        (["--stdio=1"], "option '--stdio' takes no value"),
        (["--framing", "xml"], "option '--framing' needs one of auto, line, header, got 'xml'"),
        (["--log-level", "loud"], "option '--log-level' needs one of error, warn, info, debug, got 'loud'"),
        (["--clientProcessId", "0"], "option '--clientProcessId' needs a process id, got '0'"),
        (["--tls-key-log="], "option '--tls-key-log' needs a file, got ''"),
        (["--app", "../x"], "option '--app' needs 1 to 64 letters, digits, '.', '_' or '-', got '../x'"),
    ])
    func `what cannot be followed is named`(arguments: [String], message: String) {
        #expect(throws: UsageError(message)) { try CommandLineParser.parse(arguments) }
    }

    @Test(arguments: [
        ("--version", CommandLineOptions.Action.printVersion), ("--help", .printHelp),
        ("--print-openrpc", .printOpenRPC),
    ])
    func `some options ask for something else than service`(option: String, action: CommandLineOptions.Action) throws {
        #expect(try CommandLineParser.parse([option]).action == action)
    }

    @Test func `the argument overrides the environment`() throws {
        #expect(try CommandLineParser.parse([], environmentLogLevel: "info").logLevel == .info)
        #expect(try CommandLineParser.parse(["--log-level=error"], environmentLogLevel: "info").logLevel == .error)
    }

    @Test func `the help names every option within 100 columns`() {
        let help = CommandLineParser.help
        for option in CommandLineParser.table { #expect(help.contains("  \(option.name)")) }
        let lines = help.split(separator: "\n").drop { !$0.hasPrefix("Options") }
        #expect(lines.allSatisfy { $0.count <= 110 })
    }
}
