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

    /// An answer that has arrived. Its handler must run while nobody has access to the `Jobs`: it may submit more.
    struct Answer {
        let run: () -> Void
        /// A buffer that comes back from a write.
        var buffer: IOBuffer?
        /// Why the state can no longer be stored, if that is what the answer says.
        var stateGone: StoreError?
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
    mutating func takeFileAnswers(waitMilliseconds: Int32) -> [Answer] {
        let results =
            waitMilliseconds > 0
            ? fileResults.waitAndTakeAll(timeoutMilliseconds: waitMilliseconds) ?? [] : fileResults.takeAll()
        return results.map { result in
            let handler = fileHandlers.removeValue(forKey: result.ticket)
            return Answer(run: { handler?(result.outcome) }, buffer: result.buffer)
        }
    }

    /// The store's results that have arrived, in order; for `answer`.
    func takeStoreResults() -> [StoreResult] { store.results.takeAll() }

    /// Counts an operation as ended, and returns its answer.
    mutating func answer(_ result: StoreResult) -> Answer {
        completedStoreTicket = max(completedStoreTicket, result.ticket)
        let handler = storeHandlers.removeValue(forKey: result.ticket)
        var answer = Answer(run: { handler?(result.outcome) })
        if case .failed(let error) = result.outcome, error.isFilesGone { answer.stateGone = error }
        return answer
    }
}
