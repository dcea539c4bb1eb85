internal import Files
internal import Platform
internal import Store

/// Jobs of the file workers and operations of the store that are in progress, and who waits for their answers.
///
/// Isolation: the engine. Tickets are in the order of submission; the store's operations end in that order.
struct Jobs {
    private let store: Store
    private let files: FileWorkers
    private let fileResults: Mailbox<FileResult>
    private var lastFileTicket: UInt64 = 0
    private var fileHandlers: [UInt64: (FileOutcome) -> Void] = [:]
    private var storeHandlers: [UInt64: (StoreOutcome) -> Void] = [:]
    /// That of the latest store operation.
    private(set) var lastStoreTicket: UInt64 = 0
    /// Store operations up to this one have ended.
    private(set) var completedStoreTicket: UInt64 = 0

    /// How many have not been answered yet.
    var pendingCount: Int { fileHandlers.count + storeHandlers.count }

    /// The answer of a file worker that has arrived, and who waits for it.
    ///
    /// The handler runs when nobody has access to the `Jobs`: it may submit more.
    struct FileAnswer {
        let outcome: FileOutcome
        let handler: ((FileOutcome) -> Void)?
        /// A buffer that comes back from a write.
        let buffer: IOBuffer?
    }

    /// Starts the file workers.
    ///
    /// - Parameter onAnswer: called on a worker's thread when there is an answer of a file worker.
    init(store: Store, onAnswer: @escaping @Sendable () -> Void) throws(Errno) {
        fileResults = try Mailbox(onFirst: onAnswer)
        files = try FileWorkers(results: fileResults, scope: store.scope)
        self.store = store
    }

    mutating func submit<Answer>(
        _ request: FileRequest<Answer>, volume: VolumeID?, then handler: @escaping (Result<Answer, FileError>) -> Void
    ) {
        lastFileTicket += 1
        fileHandlers[lastFileTicket] = { handler(request.result($0)) }
        files.submit(request.job, ticket: lastFileTicket, volume: volume)
    }

    /// - Returns: the operation's ticket.
    mutating func submit<Answer>(
        _ request: StoreRequest<Answer>, then handler: @escaping (Result<Answer, StoreError>) -> Void
    ) -> UInt64 {
        lastStoreTicket += 1
        storeHandlers[lastStoreTicket] = { handler(request.result($0)) }
        store.submit(request.operation, ticket: lastStoreTicket)
        return lastStoreTicket
    }

    /// The answers of file workers that have arrived, in order.
    ///
    /// - Parameter waitMilliseconds: how long to wait for the first; only used at the end, never in the loop.
    mutating func takeFileAnswers(waitMilliseconds: Int32) -> [FileAnswer] {
        let results =
            waitMilliseconds > 0
            ? fileResults.waitAndTakeAll(timeoutMilliseconds: waitMilliseconds) ?? [] : fileResults.takeAll()
        return results.map {
            FileAnswer(
                outcome: $0.outcome, handler: fileHandlers.removeValue(forKey: $0.ticket), buffer: $0.buffer)
        }
    }

    /// The store's results that have arrived, in order; each is then for `end`.
    func takeStoreResults() -> [StoreResult] { store.results.takeAll() }

    /// Counts an operation as ended, and returns who waits for its outcome.
    mutating func end(_ result: StoreResult) -> ((StoreOutcome) -> Void)? {
        completedStoreTicket = max(completedStoreTicket, result.ticket)
        return storeHandlers.removeValue(forKey: result.ticket)
    }
}
