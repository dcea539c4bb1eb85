internal import Core
internal import Curl
internal import Files
internal import Platform
internal import Store

/// `start`: checks the destination, lets the store decide, begins.
extension DownloadEngine {
    /// Starts a download, or finds the one that a repeated request means; answers when its record is durable.
    ///
    /// The destination is checked first (by a file worker). Then one transaction decides whether the request makes a
    /// record, finds one, takes over an interrupted one, or conflicts.
    package func start(_ request: StartRequest, reply: @escaping Reply<StartAnswer>) {
        pipeline.append(.start { [self] in beginStart(request, reply) })
    }

    private func beginStart(_ request: StartRequest, _ reply: @escaping Reply<StartAnswer>) {
        let run = StartRun(place: starts.take(), request: request, reply: reply)
        if isClosed { return refuse(run, .shuttingDown) }
        do throws(URLError) {
            (_, run.url, run.userInfo) = try URLParser.separate(request.url)
        } catch {
            return refuse(run, .unsupportedURL(message: error.message))
        }
        inspect(run, mayAsk: true)
    }

    /// How long the check of a destination may take; disks that spin up need some seconds.
    static let lookLimitNanoseconds: Int64 = 10_000_000_000

    /// - Parameter mayAsk: false once the process that owns the download was asked for it.
    private func inspect(_ run: StartRun, mayAsk: Bool) {
        let (directory, name) = split(run.path.map { .file(path: $0) } ?? run.request.destination)
        let partialName = name.map { $0 + FileName.partialSuffix }
        let goOn = OneCall<Result<DestinationStatus, FileError>?> { [self] outcome in
            switch outcome {
            case .success(let status)?:
                if run.number > 0, status.atName != .nothing, takeNextName(run, mayAsk: mayAsk) { return }
                run.status = status
                run.refusal = whyRefused(run.request, directory, status)
            case .failure(let error)? where error.reason == .outsideRoots:
                // A download with files there may not be touched either.
                if let taken = run.taken { close(taken.file) }
                return refuse(run, .outsideRoots(path: directory))
            case .failure(let error)?: run.refusal = EngineError(error, directory: directory)
            case nil: run.refusal = .storageFailure(message: "the disk of \(directory) does not answer")
            }
            takePartial(run) { [self] in decide(run, mayAsk: mayAsk) }
        }
        let look = FileRequest.inspect(
            directory: directory, name: name, partialName: partialName,
            createsDirectories: run.request.options.createsDirectories)
        submit(look) { goOn($0) }
        // A disk that hangs must not block later requests for ever.
        timers.add(.run { goOn(nil) }, due: now + Self.lookLimitNanoseconds)
    }

    private func decide(_ run: StartRun, mayAsk: Bool) {
        var record = newRecord(run)
        addHeld(run, to: &record)
        var candidate = StartCandidate(
            record: record, isIDGiven: run.request.id != nil, givenURL: run.request.url)
        // Even if the destination cannot be used now, the request may mean an existing download there.
        candidate.mayInsert = run.refusal == nil
        submit(.start(candidate)) { [self] outcome in
            if case .success(.destinationConflict) = outcome, takeNextName(run, mayAsk: mayAsk) { return }
            guard mayAsk, case .success(.ownedElsewhere(let loaded)) = outcome else {
                return movePartial(run, outcome) { [self] outcome in end(run, outcome) }
            }
            // If its process continues without a host, it releases the download on request; otherwise this is the
            // answer.
            askForHandover(loaded.record.id) { [self] isFree in
                if isFree { return inspect(run, mayAsk: false) }
                movePartial(run, outcome) { [self] outcome in end(run, outcome) }
            }
        }
    }

    /// `ifExists: rename`, and another download uses the name: tries the next; false if there is none left.
    private func takeNextName(_ run: StartRun, mayAsk: Bool) -> Bool {
        let request = run.request
        guard request.options.ifExists == .rename, request.resumeData == nil, run.number < Self.maxNumber,
            case (let directory, let name?) = split(request.destination)
        else { return false }
        run.number += 1
        run.path = joined(directory, FileName.numbered(name, run.number))
        inspect(run, mayAsk: mayAsk)
        return true
    }

    private func end(_ run: StartRun, _ outcome: Result<StartOutcome, StoreError>) {
        starts.resolve(run.place) { [self] in
            startDecided(run, outcome)
        }
        pumpStarts()
    }

    private func refuse(_ run: StartRun, _ error: EngineError) {
        starts.resolve(run.place) { [self] in answer { run.reply(.failure(error)) } }
        pumpStarts()
    }

    /// Answers the starts that are next in order.
    private func pumpStarts() {
        while let body = starts.popResolved() {
            pipeline.startEnded()
            body()
        }
        pumpPipeline()
    }

    /// Why a new download to this destination is refused.
    private func whyRefused(_ request: StartRequest, _ directory: String, _ status: DestinationStatus) -> EngineError? {
        switch status.directory {
        case .missing, .notDirectory: return .directoryMissing(path: directory)
        case .present: break
        }
        if status.isReadOnly { return .storageFailure(message: "the file system of \(directory) is read-only") }
        guard status.isWritable else { return .permissionDenied(path: directory) }
        guard case .file(let path) = request.destination else { return nil }
        switch (status.atName, request.options.ifExists) {
        case (.nothing, _), (_, .rename), (.regular, .overwrite), (.regular, .skip): return nil
        case (.regular, .error), (.directory, _), (.other, _): return .destinationExists(path: path)
        }
    }

    /// The record that the request makes if nothing prevents it.
    private func newRecord(_ run: StartRun) -> DownloadRecord {
        let request = run.request
        var record = DownloadRecord(
            id: request.id ?? newID(),
            url: run.url,
            state: request.startsPaused ? .paused : .queued,
            reason: request.startsPaused ? .user : nil,
            intent: request.startsPaused ? .paused : .run,
            createdAtMilliseconds: unixMilliseconds()
        )
        switch request.destination {
        case .file(let path):
            record.requestedPath = path
            record.path = run.path ?? path
            record.partialPath = (run.path ?? path) + FileName.partialSuffix
        case .directory(let path): record.requestedDirectory = path
        }
        record.ifExists = request.options.ifExists
        record.checksum = request.options.checksum
        record.priority = request.options.priority
        record.optionsText = OptionsText.encode(request.options)
        let headersText = OptionsText.encode(request.options.headers)
        record.headersText = URLUserInfo.keeping(run.userInfo, in: headersText)
        record.metadataText = request.metadataText
        record.owner = store.session.number
        return record
    }

    /// 75 random bits in letters and digits; begins with a letter, so that no shell takes it for an option or a number.
    private func newID() -> String {
        let alphabet = Array("abcdefghijkmnpqrstuvwxyz23456789")
        let letters = (0..<15).map { _ in alphabet[Int.random(in: 0..<32)] }
        return "d" + String(letters)
    }

    private func startDecided(_ run: StartRun, _ outcome: Result<StartOutcome, StoreError>) {
        let reply = run.reply
        switch outcome {
        case .success(.created(let record)):
            let download = hold(LoadedRecord(record: record, ownership: .own))
            download.mayHaveOrphan = false
            if case .present(let volume)? = run.status?.directory { download.volume = volume }
            answerStart(download, isCreated: true, isResumed: run.taken != nil, reply)
            tell(download)
            if download.record.state == .queued { enqueue(download) }
        case .success(.takenOver(let loaded)):
            let download = hold(loaded)
            guard download.record.state == .paused, download.record.reason == .interrupted else {
                // A request that was sent together with this one has continued it already.
                return answerStart(download, isCreated: false, isResumed: false, reply)
            }
            download.record.intent = .run
            change(download, to: .queued, isTold: false)
            answerStart(download, isCreated: false, isResumed: true, reply)
            tell(download)
            enqueue(download)
        case .success(.existing(let loaded)), .success(.ownedElsewhere(let loaded)):
            let found = downloads[loaded.record.id].map { snapshot(of: $0) } ?? snapshot(of: loaded)
            answer { [self] in
                reply(.success(StartAnswer(download: asCommitted(found), isCreated: false, isResumed: false)))
            }
        case .success(.idConflict(let loaded, let differs)):
            let names = differs.map { $0.rawValue }
            answer { reply(.failure(.idConflict(id: loaded.record.id, differs: names))) }
        case .success(.destinationConflict(let id)):
            let path = run.request.destination.path
            answer { reply(.failure(.destinationHeld(path: path, id: id))) }
        case .success(.outside(let path)): answer { reply(.failure(.outsideRoots(path: path))) }
        case .success(.absent):
            answer { reply(.failure(run.refusal ?? .storageFailure(message: "the download was not stored"))) }
        case .failure(let error): answer { reply(.failure(EngineError(error))) }
        }
    }

    private func answerStart(
        _ download: Download, isCreated: Bool, isResumed: Bool, _ reply: @escaping Reply<StartAnswer>
    ) {
        let snapshot = snapshot(of: download)
        answer { [self] in
            reply(.success(StartAnswer(download: asCommitted(snapshot), isCreated: isCreated, isResumed: isResumed)))
        }
    }

    /// Makes this process the owner in memory.
    func hold(_ loaded: LoadedRecord) -> Download {
        if let held = downloads[loaded.record.id] { return held }
        var record = loaded.record
        record.owner = store.session.number
        // Only the path is recorded first; the path of the partial follows from it.
        if record.partialPath == nil { record.partialPath = record.path.map { $0 + FileName.partialSuffix } }
        let download = Download(record: record, source: try? URLParser.parse(record.url))
        download.mayHaveOrphan = record.partial == nil
        discards.keep(record.id)
        download.partial.durable = record.durable
        download.partial.claimed = claimedRanges(record)
        download.startByteCount = download.partial.claimed.byteCount
        downloads[record.id] = download
        return download
    }

    /// The directory of a destination, and the file name if one is given.
    func split(_ destination: StartRequest.Destination) -> (directory: String, name: String?) {
        switch destination {
        case .directory(let path): return (path, nil)
        case .file(let path):
            guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return (".", path) }
            let directory = slash == path.utf8.startIndex ? "/" : String(path[..<slash])
            return (directory, String(path[path.utf8.index(after: slash)...]))
        }
    }
}

/// A `start` that is being processed.  Isolation: the engine.
final class StartRun {
    let place: UInt64
    let request: StartRequest
    let reply: DownloadEngine.Reply<StartAnswer>
    /// The URL without its userinfo, and the userinfo.
    var url = ""
    var userInfo: String?
    /// The result of checking the destination.
    var status: DestinationStatus?
    /// Why no new download may be made there.
    var refusal: EngineError?
    /// The numbered name to try if another download uses the requested name, and its number.
    var path: String?
    var number = 0
    /// The partial of the resume data, open and locked.
    var taken: OpenedPartial?

    init(place: UInt64, request: StartRequest, reply: @escaping DownloadEngine.Reply<StartAnswer>) {
        self.place = place
        self.request = request
        self.reply = reply
    }
}

extension EngineError {
    /// Translates the error of checking a destination.
    init(_ error: FileError, directory: String) {
        let failure = error.downloadFailure
        self =
            switch (error.reason, failure.kind) {
            case (.outsideRoots, _): .outsideRoots(path: directory)
            case (.tooLong(let part, let maximum), _):
                .nameTooLong(path: error.path, isPath: part == .path, maximum: maximum)
            case (_, .permissionDenied): .permissionDenied(path: directory)
            case (_, .destinationGone): .directoryMissing(path: directory)
            default: .storageFailure(message: failure.message)
            }
    }
}
