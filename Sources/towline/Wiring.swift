internal import Curl
internal import Engine
internal import Platform
internal import Service
internal import RPC
internal import Store

/// Makes the parts and connects them.  Isolation: the main thread, before the others start.
enum Wiring {
    /// How long the last answers may take to be read at a quiet end; a loud one has its own limit.
    private static let flushLimitMilliseconds = 86_400_000
    private static let logFlushLimitMilliseconds: Int64 = 100

    /// Starts everything but the reading, which is left to the caller.
    static func start(_ options: CommandLineOptions) throws(StartFailure) -> Reader {
        let store: Store
        let loop: CurlLoop
        let engine: DownloadEngine
        let log: Log
        do throws(Errno) {
            log = try Log(level: options.logLevel, format: options.logFormat)
            loop = try CurlLoop()
        } catch {
            throw StartFailure(message: "cannot start: \(error.message)", code: ExitCode.internalError)
        }
        do throws(CurlError) {
            try CurlGlobal.start()
        } catch {
            throw StartFailure(message: "cannot start libcurl: \(error.detail)", code: ExitCode.internalError)
        }
        store = try openStore(options, loop, log)
        do throws(EngineStartError) {
            engine = try DownloadEngine(loop: loop, store: store) { line in Wiring.write(line, to: log) }
        } catch {
            throw StartFailure(message: error.message, code: ExitCode.internalError)
        }
        do throws(Errno) {
            return try connect(options, store, loop, engine, log)
        } catch {
            throw StartFailure(message: "cannot start: \(error.message)", code: ExitCode.internalError)
        }
    }

    private static func openStore(
        _ options: CommandLineOptions,
        _ loop: CurlLoop,
        _ log: Log
    ) throws(StartFailure) -> Store {
        var configuration = StoreConfiguration(
            location: options.stateDirectory.map { .directory($0) } ?? .application(options.application)
        )
        configuration.allowsNetworkFileSystem = options.allowsNetworkState
        do throws(StateDirectoryError) {
            let store = try Store(configuration, onFirst: { loop.wake() })
            for diagnostic in store.diagnostics { log.warn(diagnostic.message) }
            return store
        } catch {
            throw StartFailure(message: error.message, code: ExitCode.stateDirectoryUnusable)
        }
    }

    private static func connect(
        _ options: CommandLineOptions,
        _ store: Store,
        _ loop: CurlLoop,
        _ engine: DownloadEngine,
        _ log: Log
    ) throws(Errno) -> Reader {
        let inbox = try Mailbox<Inbound>(onFirst: { loop.wake() })
        let unsent = try Backpressure()
        let inFlight = try Backpressure()
        let standardOutput = try takeStandardOutput()
        let outputDescriptor = standardOutput.raw
        let output = try OutputQueue(
            descriptor: standardOutput,
            backpressure: unsent,
            encodeEventsLost: Session.encodeEventsLost,
            onFailure: { inbox.send(.outputFailed($0)) }
        )
        let configuration = try makeConfiguration(options, stateDirectory: store.directory.path, log)
        let loopThread = try loop.start(engine)
        let watch = try ProcessWatch(
            inbox: inbox,
            outputDescriptor: outputDescriptor,
            processID: options.clientProcessID
        ) {
            loop.stop()
            loopThread.join()
            _ = output.close(timeoutMilliseconds: flushLimitMilliseconds)
            log.flush(timeoutMilliseconds: logFlushLimitMilliseconds)
        }
        let session = Session(
            configuration: configuration,
            log: log,
            inbox: inbox,
            output: output,
            inFlight: inFlight,
            watch: watch
        )
        attach(session, to: engine)
        return Reader(
            descriptor: 0,
            choice: options.framing,
            inbox: inbox,
            output: output,
            inFlight: inFlight,
            unsent: unsent
        )
    }

    private static func attach(_ session: sending Session, to engine: DownloadEngine) {
        Task { await engine.attach(session) }
    }

    private static func makeConfiguration(
        _ options: CommandLineOptions,
        stateDirectory: String,
        _ log: Log
    ) throws(Errno) -> SessionConfiguration {
        let directory: String
        do throws(Errno) {
            directory = try currentDirectory()
        } catch {
            // A host that gives absolute paths can do without.
            log.warn("the working directory cannot be found (\(error.message)): relative paths start from /")
            directory = "/"
        }
        return SessionConfiguration(
            version: Version.text,
            libraries: [(name: "libcurl", version: CurlGlobal.version)],
            stateDirectory: stateDirectory,
            workingDirectory: directory,
            roots: options.roots.compactMap { Paths.normalized($0, relativeTo: directory) },
            hostExitPolicy: options.hostExitPolicy,
            resumesOnStart: options.resumesOnStart,
            name: try randomBytes(count: 5).map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined(),
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
