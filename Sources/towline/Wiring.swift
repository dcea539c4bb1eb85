internal import Core
internal import Curl
internal import Engine
internal import Platform
internal import Service
internal import RPC
internal import Store

/// Creates the parts and connects them.  Isolation: the main thread, before the others start.
enum Wiring {
    /// How long the host may take to read the last answers at a normal end; an end by a signal has its own limit.
    private static let flushLimitMilliseconds = 86_400_000
    private static let logFlushLimitMilliseconds: Int64 = 100

    /// Input and output, and the limits on them.
    private struct Pipes {
        let inbox: Mailbox<Inbound>
        let room: Backpressure
        let output: OutputQueue
        let outputDescriptor: Int32
        let outputFailure = OutputFailure()
        /// The name of this run of the service in events.
        let sessionName: String

        init(_ loop: CurlLoop) throws(Errno) {
            let sessionName = try randomBytes(count: 5).map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }
                .joined()
            self.sessionName = sessionName
            let inbox = try Mailbox<Inbound>(onFirst: { loop.wake() })
            self.inbox = inbox
            room = try Backpressure()
            let standardOutput = try takeStandardOutput()
            outputDescriptor = standardOutput.raw
            let outputFailure = outputFailure
            output = try OutputQueue(
                descriptor: standardOutput,
                backpressure: room,
                encodeEventsLost: { [sessionName] in Session.encodeEventsLost($0, session: sessionName) },
                onFailure: { error in
                    outputFailure.error.withLock { $0 = error }
                    inbox.send(.outputFailed(error))
                }
            )
        }
    }

    /// Why standard output could not be written, if so.
    private final class OutputFailure: Sendable {
        let error = Guarded<Errno?>(nil)

        /// The exit code: lost answers are no success, even if the session had already ended.
        func code(_ code: Int32) -> Int32 {
            guard code <= ExitCode.failure, let error = error.withLock({ $0 }), error != .pipe else { return code }
            return ExitCode.inputOutput
        }
    }

    /// The loop's thread, set after the parts that must join it at the end were created.
    private final class LoopThread: Sendable {
        let thread = Guarded<Thread?>(nil)
    }

    /// Starts everything except reading, which the caller does.
    static func start(_ options: CommandLineOptions) throws(StartFailure) -> Reader {
        let host = options.clientProcessID.flatMap(HostProcess.init)
        try setKeyLog(options.tlsKeyLogPath)
        do throws(CurlError) {
            try CurlGlobal.start()
        } catch {
            throw StartFailure(message: "cannot start libcurl: \(error.detail)", code: ExitCode.internalError)
        }
        let log: Log
        let loop: CurlLoop
        do throws(Errno) {
            log = try Log(level: options.logLevel, format: options.logFormat)
            loop = try CurlLoop()
        } catch {
            throw StartFailure(message: "cannot start: \(error.message)", code: ExitCode.internalError)
        }
        let place = try WorkingPlace(options, log)
        let store = try openStore(options, place.scope, loop, log)
        let pipes: Pipes
        let loopThread = LoopThread()
        let session: Session
        do throws(Errno) {
            pipes = try Pipes(loop)
            session = try makeSession(options, place, store, pipes, log, host) {
                loop.stop()
                loopThread.thread.withLock { $0 }?.join()
            }
        } catch {
            throw StartFailure(message: "cannot start: \(error.message)", code: ExitCode.internalError)
        }
        let engine: DownloadEngine
        do throws(EngineStartError) {
            engine = try DownloadEngine(
                loop: loop,
                store: store,
                client: session,
                usesEnvironmentProxies: options.usesEnvironmentProxies
            ) { line in write(line, to: log) }
        } catch {
            throw StartFailure(message: error.message, code: ExitCode.internalError)
        }
        do throws(Errno) {
            let thread = try loop.start(engine)
            loopThread.thread.withLock { $0 = thread }
        } catch {
            throw StartFailure(message: "cannot start: \(error.message)", code: ExitCode.internalError)
        }
        return Reader(
            descriptor: 0,
            choice: options.framing,
            inbox: pipes.inbox,
            output: pipes.output,
            room: pipes.room
        )
    }

    /// The file with the TLS keys is written only with --tls-key-log, whatever the environment says, and only we can
    /// read it.
    ///
    /// libcurl and OpenSSL read this variable when they start.
    private static func setKeyLog(_ path: String?) throws(StartFailure) {
        setEnvironmentVariable("SSLKEYLOGFILE", to: path)
        guard let path else { return }
        do throws(Errno) {
            try makePrivateFile(path)
        } catch {
            let message = "cannot write to the file of --tls-key-log: \(path): \(error.message)"
            throw StartFailure(message: message, code: ExitCode.badConfiguration)
        }
    }

    private static func openStore(
        _ options: CommandLineOptions,
        _ scope: PathScope,
        _ loop: CurlLoop,
        _ log: Log
    ) throws(StartFailure) -> Store {
        var configuration = StoreConfiguration(
            location: options.stateDirectory.map { .directory($0) } ?? .application(options.application)
        )
        configuration.allowsNetworkFileSystem = options.allowsNetworkState
        configuration.scope = scope
        do throws(StateDirectoryError) {
            let store = try Store(configuration, onFirst: { loop.wake() })
            for diagnostic in store.diagnostics { log.warn(diagnostic.text) }
            return store
        } catch {
            throw StartFailure(message: error.message, code: ExitCode.stateDirectoryUnusable)
        }
    }

    private static func makeSession(
        _ options: CommandLineOptions,
        _ place: WorkingPlace,
        _ store: Store,
        _ pipes: Pipes,
        _ log: Log,
        _ host: HostProcess?,
        endLoop: @escaping @Sendable () -> Void
    ) throws(Errno) -> sending Session {
        let output = pipes.output
        let outputFailure = pipes.outputFailure
        let watch = try ProcessWatch(
            inbox: pipes.inbox,
            outputDescriptor: pipes.outputDescriptor,
            host: host
        ) { code in
            endLoop()
            _ = output.close(timeoutMilliseconds: flushLimitMilliseconds)
            log.flush(timeoutMilliseconds: logFlushLimitMilliseconds)
            return outputFailure.code(code)
        }
        return Session(
            configuration: makeConfiguration(
                options, place, stateDirectory: store.directory.path, name: pipes.sessionName),
            log: log,
            inbox: pipes.inbox,
            output: output,
            room: pipes.room,
            watch: watch
        )
    }

    private static func makeConfiguration(
        _ options: CommandLineOptions,
        _ place: WorkingPlace,
        stateDirectory: String,
        name: String
    ) -> SessionConfiguration {
        SessionConfiguration(
            version: Version.text,
            libraries: [(name: "libcurl", version: CurlGlobal.version)],
            stateDirectory: stateDirectory,
            workingDirectory: place.directory,
            scope: place.scope,
            hostExitPolicy: options.hostExitPolicy,
            resumesOnStart: options.resumesOnStart,
            name: name,
            processID: currentProcessID()
        )
    }

    private static func write(_ line: EngineLogLine, to log: Log) {
        let message = line.downloadID.map { "\($0): \(line.message)" } ?? line.message
        switch line.level {
        case .error: log.error(message)
        case .warn: log.warn(message)
        case .info: log.info(message)
        case .debug: log.debug(message)
        }
    }
}
