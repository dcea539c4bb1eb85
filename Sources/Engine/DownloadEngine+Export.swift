internal import Core
internal import Curl
internal import Files
internal import Platform
internal import Store

/// `export`, and `start` with resume data: a download continues in another process with another state directory.
///
/// The identity of the partial makes this safe: a file contains bytes of one version as long as it exists
/// (`discardFile`), whoever writes to it has its lock, and whoever takes it over renames it.
extension DownloadEngine {
    // MARK: - Export

    /// Describes the stored bytes of a download, for `start` in any process; the download itself is not changed.
    ///
    /// Later bytes are not included; nobody can use the text while a process has the partial open.
    package func exportResumeData(id: String, reply: @escaping Reply<String>) {
        pipeline.append(
            .run { [self] in
                if let download = downloads[id] {
                    var record = download.record
                    if download.partial.file != nil {
                        record.written = progressRecord(download, download.partial.written)
                    }
                    return export(record, reply)
                }
                submit(.get(id: id)) { [self] outcome in
                    permit(loaded(id, outcome)) { [self] permitted in
                        switch permitted {
                        case .success(let loaded): export(loaded.record, reply)
                        case .failure(let error): reply(.failure(error))
                        }
                    }
                }
            })
    }

    private func export(_ record: DownloadRecord, _ reply: @escaping Reply<String>) {
        if record.state == .completed || record.state == .canceled {
            return reply(.failure(.notExportable(id: record.id, state: record.state)))
        }
        submit(.resumeKeys(makes: true)) { [self] outcome in
            guard case .success(let keys) = outcome, let key = keys.first else {
                return reply(.failure(.storageFailure(message: "the key that signs resume data cannot be stored")))
            }
            export(record, key, reply)
        }
    }

    private func export(_ record: DownloadRecord, _ key: [UInt8], _ reply: @escaping Reply<String>) {
        guard let path = record.partialPath, let identity = record.partial, !claimedRanges(record).isEmpty else {
            return reply(encode(record, held: nil, key))
        }
        submit(.describePartial(path: path, expected: identity)) { [self] outcome in
            guard case .success(let description) = outcome, let birth = description.birthNanoseconds else {
                // The partial does not exist, or its file system cannot distinguish it from a later file: there are no
                // bytes to continue with.
                return reply(encode(record, held: nil, key))
            }
            let written = record.written.flatMap { $0.attempt == record.attempt && $0.partial == identity ? $0 : nil }
            let held = ResumeData.Held(
                path: path,
                identity: identity,
                birthNanoseconds: birth,
                durable: record.durable,
                written: written?.written ?? ByteRangeSet(),
                bootID: written?.bootID ?? "",
                mountID: written?.mountID
            )
            reply(encode(record, held: held, key))
        }
    }

    private func encode(
        _ record: DownloadRecord, held: ResumeData.Held?, _ key: [UInt8]
    ) -> Result<String, EngineError> {
        var options = OptionsText.decode(record.optionsText)
        options.ifExists = record.ifExists
        options.checksum = record.checksum
        options.priority = record.priority
        let parsed = try? URLParser.parse(record.url)
        let location = parsed?.absoluteString ?? ""
        // An empty query is no secret.
        let bare = location.last == "?" ? location : String(location.prefix { $0 != "?" })
        let data = ResumeData(
            url: bare,
            isURLWhole: bare == location && parsed != nil && URLUserInfo.kept(in: record.headersText) == nil,
            path: record.path,
            directory: record.requestedDirectory,
            options: options,
            entity: record.entity,
            suggestedFileName: record.suggestedFileName,
            held: held
        )
        guard let text = data.encoded(key: key) else {
            return .failure(.limitExceeded(limit: "resumeDataBytes", maximum: Int64(Limits.resumeDataByteCount)))
        }
        return .success(text)
    }

    // MARK: - Import

    /// Opens and locks the partial of the resume data, so that no other process can take it while the store decides.
    ///
    /// If this user did not export the data on this machine, no file is touched, and nothing begins.
    func takePartial(_ run: StartRun, then body: @escaping () -> Void) {
        guard run.refusal == nil, run.taken == nil, let data = run.request.resumeData else { return body() }
        submit(.resumeKeys(makes: false)) { [self] outcome in
            guard case .success(let keys) = outcome, keys.contains(where: data.isSigned) else {
                let path = data.partialPath ?? data.path ?? data.directory ?? ""
                run.refusal = .resumeDataUnusable(path: path, reason: .unproven)
                return body()
            }
            guard let held = data.held else { return body() }
            take(held, run, then: body)
        }
    }

    private func take(_ held: ResumeData.Held, _ run: StartRun, then body: @escaping () -> Void) {
        let (directory, _) = split(run.request.destination)
        let job = FileRequest.openPartial(
            path: held.path,
            expected: held.identity,
            birthNanoseconds: held.birthNanoseconds,
            destination: directory
        )
        afterClosing(held.identity) { [self] in
            submit(job, volume: VolumeID(held.identity)) { outcome in
                switch outcome {
                case .success(let opened): run.taken = opened
                case .failure(let error): run.refusal = EngineError(taking: error)
                }
                body()
            }
        }
    }

    /// Adds the bytes that are taken over to a new record.
    func addHeld(_ run: StartRun, to record: inout DownloadRecord) {
        guard let data = run.request.resumeData else { return }
        record.entity = data.entity
        record.contentType = data.entity?.contentType
        record.suggestedFileName = data.suggestedFileName
        guard let held = data.held, let taken = run.taken else { return }
        record.partialPath = held.path
        record.partial = held.identity
        record.durable = held.durable
        guard taken.pendingError == nil else { return }
        record.written = ProgressRecord(
            downloadID: record.id,
            attempt: record.attempt,
            partial: held.identity,
            bootID: held.bootID,
            mountID: held.mountID,
            written: held.written
        )
    }

    /// Renames the partial once the record exists, so that the resume data cannot be used again.
    ///
    /// After a kill in between the record is still correct: opening tries both names.
    func movePartial(
        _ run: StartRun, _ outcome: Result<StartOutcome, StoreError>,
        then body: @escaping (Result<StartOutcome, StoreError>) -> Void
    ) {
        guard let taken = run.taken else { return body(outcome) }
        guard case .success(.created(var record)) = outcome, let path = record.path else {
            close(taken.file)
            return body(outcome)
        }
        let candidates = partialNames(path).filter { $0 != taken.file.path }
        submit(.movePartial(taken.file, candidates: candidates)) { [self] moved in
            close(taken.file)
            switch moved {
            case .success(let name):
                record.partialPath = name
                submit(.save(record)) { saved in
                    if case .success(.saved(let revision)) = saved { record.revision = revision }
                    body(.success(.created(record)))
                }
            case .failure(let error) where error.errno == .crossDevice: takeBack(run, record, error, body)
            case .failure:
                note(.warn, "cannot rename the partial file; its name stays \(taken.file.path)", nil)
                body(outcome)
            }
        }
    }
}

extension DownloadEngine {
    /// Although it is one mount, the file system cannot rename the partial there (Btrfs subvolumes, project quotas):
    /// deletes the record, which nobody has seen yet.
    private func takeBack(
        _ run: StartRun, _ record: DownloadRecord, _ error: FileError,
        _ body: @escaping (Result<StartOutcome, StoreError>) -> Void
    ) {
        var record = record
        record.state = .canceled
        record.owner = nil
        run.refusal = .resumeDataUnusable(path: record.partialPath ?? error.path, reason: .otherFileSystem)
        submit(.save(record)) { [self] _ in
            submit(.delete(id: record.id)) { _ in body(.success(.absent)) }
        }
    }
}

extension EngineError {
    /// Translates the error of opening the partial of some resume data.
    fileprivate init(taking error: FileError) {
        self =
            switch error.reason {
            case .replaced: .resumeDataUnusable(path: error.path, reason: .partialReplaced)
            case .outsideRoots: .outsideRoots(path: error.path)
            case .inUse: .resumeDataUnusable(path: error.path, reason: .partialInUse)
            case .system(.crossDevice): .resumeDataUnusable(path: error.path, reason: .otherFileSystem)
            case .system(.noEntry), .system(.notDirectory), .system(.nameTooLong):
                .resumeDataUnusable(path: error.path, reason: .partialMissing)
            case .system(.accessDenied), .system(.notPermitted): .permissionDenied(path: error.path)
            default: .storageFailure(message: error.downloadFailure.message)
            }
    }
}
