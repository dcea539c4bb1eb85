package import Core
package import Platform

/// How to open the state.
package struct StoreConfiguration: Sendable {
    package var location: StateLocation
    package var allowsNetworkFileSystem = false
    /// Where files may be: records of files elsewhere can only be read.
    package var scope = PathScope.anywhere
    /// How long to wait for other processes' locks.
    package var busyLimitMilliseconds: Int32 = 10_000
    /// Where the user's key for resume data is or will be stored; nil: nowhere.
    package var resumeKeyPath: String? = StateLocation.resumeKeyPath()

    package init(location: StateLocation) {
        self.location = location
    }
}

/// The records on disk: operations are submitted, results are delivered once they are durable.  Isolation: any thread.
///
/// One thread owns the database. All waiting operations share a transaction; results are delivered after its commit, in
/// the order of submission.
package final class Store: Sendable {
    /// This process's session: `DownloadRecord.owner` contains its number; its slots are for progress marks.
    package let session: SessionFile
    package let directory: StateDirectory
    /// The results of the operations.
    package let results: Mailbox<StoreResult>
    /// Problems found while opening that the user should know.
    package let diagnostics: [StoreDiagnostic]
    package let scope: PathScope
    private let inbox: Mailbox<StoreJob>
    private let thread: Thread
    private let isClosed = Guarded(false)

    /// Opens the state; blocks until the database is ready.
    ///
    /// - Parameter onFirst: called on the store thread when `results` stops being empty; nil for callers that wait in
    ///   `results.waitAndTakeAll`.
    package init(
        _ configuration: StoreConfiguration,
        onFirst: (@Sendable () -> Void)? = nil
    ) throws(StateDirectoryError) {
        let path = try configuration.location.path()
        let scope = configuration.scope
        let directory = try StateDirectory(
            path: path,
            allowsNetworkFileSystem: configuration.allowsNetworkFileSystem,
            lockLimitMilliseconds: Int64(configuration.busyLimitMilliseconds)
        )
        let session: SessionFile
        let results: Mailbox<StoreResult>
        let inbox: Mailbox<StoreJob>
        let opened: Mailbox<OpenReport>
        let thread: Thread
        do throws(Errno) {
            session = try SessionFile.make(in: directory.sessionsPath)
            results = try Mailbox(onFirst: onFirst)
            inbox = try Mailbox()
            opened = try Mailbox()
            thread = try Thread(name: "store") {
                serve(directory, session, configuration, inbox, results, opened)
            }
        } catch {
            throw StateDirectoryError(path: path, doing: "start a session in", error)
        }
        var report: OpenReport?
        while report == nil { report = opened.waitAndTakeAll()?.first }
        switch report {
        case .ready(let diagnostics): self.diagnostics = diagnostics
        case .refused(let error):
            thread.join()
            throw error
        case nil: diagnostics = []
        }
        self.scope = scope
        self.session = session
        self.directory = directory
        self.results = results
        self.inbox = inbox
        self.thread = thread
    }

    deinit { inbox.close() }

    /// Submits an operation; its result has the same ticket.
    package func submit(_ operation: StoreOperation, ticket: UInt64) {
        inbox.send(StoreJob(operation: operation, ticket: ticket))
    }

    /// Performs all submitted operations, then ends the session: downloads that it still owns are then shown as
    /// interrupted.
    ///
    /// Blocks; nothing may be submitted afterwards.
    package func close() {
        let wasClosed = isClosed.withLock { isClosed in
            let was = isClosed
            isClosed = true
            return was
        }
        if wasClosed { return }
        inbox.close()
        thread.join()
    }
}

struct StoreJob: Sendable {
    let operation: StoreOperation
    let ticket: UInt64
}

private enum OpenReport: Sendable {
    case ready([StoreDiagnostic])
    case refused(StateDirectoryError)
}

/// The store thread: opens the database, so that the connection is only used there, and serves until the inbox is
/// closed.
private func serve(
    _ directory: StateDirectory,
    _ session: SessionFile,
    _ configuration: StoreConfiguration,
    _ inbox: Mailbox<StoreJob>,
    _ results: Mailbox<StoreResult>,
    _ opened: Mailbox<OpenReport>
) {
    let sessions = Sessions(directory: directory.sessionsPath)
    defer { session.end() }
    let worker: StoreWorker
    do throws(StateDirectoryError) {
        var opening = DatabaseOpening(
            directory: directory, session: session.number,
            busyLimitMilliseconds: configuration.busyLimitMilliseconds)
        worker = StoreWorker(
            table: try opening.open(), session: session.number, sessions: sessions, directory: directory,
            scope: configuration.scope,
            resumeKeys: ResumeKeys(
                paths: [configuration.resumeKeyPath, directory.resumeKeyPath].compactMap { $0 }),
            busyLimitMilliseconds: configuration.busyLimitMilliseconds, deadSessions: opening.deadSessions)
        opened.send(.ready(opening.diagnostics))
    } catch {
        sessions.remove(session.number)
        opened.send(.refused(error))
        return
    }
    worker.removeDeadSessions()
    while let jobs = inbox.waitAndTakeAll() {
        var rest = jobs[...]
        while !rest.isEmpty {
            let done = worker.performTransaction(rest)
            results.send(contentsOf: done)
            rest = rest.dropFirst(done.count)
        }
    }
    worker.removeOwnSessionIfUnnamed()
}
