internal import Platform
internal import Service

/// The process from start to end.  Isolation: the main thread.
enum Program {
    static func run(arguments: [String]) -> Never {
        let closed = occupyStandardStreams()
        // Before the first thread: threads inherit the mask.
        prepareSignals()
        limitHeapArenas(heapArenaCount)
        let options = parse(arguments)
        switch options.action {
        case .printHelp: printAndEnd(Array(CommandLineParser.help.utf8))
        case .printVersion: printAndEnd(Array("towline \(Version.text)\n".utf8))
        case .printOpenRPC: printAndEnd(OpenRPC.text(version: Version.text))
        case .serve: break
        }
        if arguments.isEmpty && isTerminal(0) { fail(CommandLineParser.shortHelp, code: ExitCode.usage) }
        if closed.contains(0) || closed.contains(1) {
            fail("towline: standard input and output must be open", code: ExitCode.inputOutput)
        }
        serve(options)
    }

    /// If each thread had a heap of its own, memory use would double.
    private static let heapArenaCount: Int32 = 2

    private static func parse(_ arguments: [String]) -> CommandLineOptions {
        let level = environmentVariable("TOWLINE_LOG")
        if let level, LogLevel(rawValue: level) == nil {
            let levels = LogLevel.allCases.map(\.rawValue).joined(separator: ", ")
            fail("towline: TOWLINE_LOG must be one of \(levels)", code: ExitCode.badConfiguration)
        }
        do throws(UsageError) {
            return try CommandLineParser.parse(arguments, environmentLogLevel: level)
        } catch {
            fail("towline: \(error.message)\nRun 'towline --help' for all options.", code: ExitCode.usage)
        }
    }

    /// Serves until the watch thread ends the process.
    private static func serve(_ options: CommandLineOptions) -> Never {
        let reader: Reader
        do throws(StartFailure) {
            reader = try Wiring.start(options)
        } catch {
            fail("towline: \(error.message)", code: error.code)
        }
        reader.run()
        // The session decides when to end; this thread has no more work.
        while true {
            var none: [PollRequest] = []
            waitForNews(&none, timeoutMilliseconds: -1)
        }
    }

    private static func printAndEnd(_ bytes: [UInt8]) -> Never {
        var rest = bytes
        while !rest.isEmpty {
            guard let count = try? writeSome(rest, to: 1), count > 0 else { endProcess(code: ExitCode.inputOutput) }
            rest.removeFirst(count)
        }
        endProcess(code: ExitCode.success)
    }

    private static func fail(_ message: String, code: Int32) -> Never {
        // There is no log yet, and a failing standard error cannot be reported.
        _ = try? writeSome(Array((message + "\n").utf8), to: 2)
        endProcess(code: code)
    }
}

/// Why the service could not start, and the exit code for it.
struct StartFailure: Error {
    var message: String
    var code: Int32
}
