internal import Core
internal import Files
internal import Platform
internal import Store

/// `remove`: what is over is forgotten, and what it would leave behind is deleted.
extension DownloadEngine {
    /// Forgets a download in a final state.
    ///
    /// - Parameter deletesFile: removes the finished file too, if it still is the one that the record knows.
    /// The answer is followed by `downloadRemoved`.
    package func remove(id: String, deletesFile: Bool, reply: @escaping Reply<Void>) {
        pipeline.append(
            .run { [self] in
                if isClosed { return answer { reply(.failure(.shuttingDown)) } }
                if let held = downloads[id], !held.record.state.isFinal {
                    let error = EngineError.invalidState(id: id, state: held.record.state, command: .remove)
                    return answer { reply(.failure(error)) }
                }
                // The store may not know its end yet.
                if downloads[id]?.isUnsaved == true { retryCommit() }
                pipeline.block()
                removeFinal(id, deletesFile: deletesFile) { [self] result in
                    answer { reply(result.map { _ in }) }
                    if case .success(let revision) = result { outbox.append(.removal(id: id, revision: revision)) }
                    pipeline.unblock()
                    pumpPipeline()
                }
            })
    }

    /// The file first: what a kill leaves in between is a record, which can be removed again.
    private func removeFinal(
        _ id: String, deletesFile: Bool, then body: @escaping (Result<Int64, EngineError>) -> Void
    ) {
        submit(.get(id: id)) { [self] outcome in
            guard case .loaded(let loaded) = outcome, loaded.ownership != .other else { return delete(id, then: body) }
            permit(.success(loaded)) { [self] permitted in
                switch permitted {
                case .success(let loaded): remove(loaded.record, deletesFile: deletesFile, then: body)
                case .failure(let error): body(.failure(error))
                }
            }
        }
    }

    private func remove(
        _ record: DownloadRecord, deletesFile: Bool, then body: @escaping (Result<Int64, EngineError>) -> Void
    ) {
        let id = record.id
        guard record.state.isFinal, let job = removalJob(record, deletesFile: deletesFile) else {
            return delete(id, then: body)
        }
        submit(.adopt(id: id)) { [self] outcome in
            guard case .loaded = outcome else { return removed(id, outcome, then: body) }
            run(job, limitNanoseconds: Self.quietLimitNanoseconds) { [self] outsidePath in
                guard let outsidePath else { return delete(id, then: body) }
                submit(.release(id: id)) { _ in }
                body(.failure(.outsideRoots(path: outsidePath)))
            }
        }
    }

    private func delete(_ id: String, then body: @escaping (Result<Int64, EngineError>) -> Void) {
        submit(.delete(id: id)) { [self] outcome in removed(id, outcome, then: body) }
    }

    private func removed(
        _ id: String, _ outcome: StoreOutcome, then body: @escaping (Result<Int64, EngineError>) -> Void
    ) {
        switch outcome {
        case .deleted(_, let revision):
            self.revision = max(self.revision, revision)
            discards.remove(id)
            body(.success(revision))
        case .notFound: body(.failure(.downloadNotFound(id: id)))
        case .notFinal(let loaded):
            body(.failure(.invalidState(id: id, state: loaded.record.state, command: .remove)))
        case .ownedElsewhere(let loaded), .notOwned(let loaded):
            body(.failure(EngineError(lockedElsewhere: loaded)))
        case .outside(let path): body(.failure(.outsideRoots(path: path)))
        case .failed(let error):
            submit(.release(id: id)) { _ in }
            body(.failure(.storageFailure(message: error.message)))
        default: body(.failure(.internalError(message: "unexpected answer to a removal")))
        }
    }

    /// What removes what a forgotten download would leave; nil when there is nothing.
    private func removalJob(_ record: DownloadRecord, deletesFile: Bool) -> FileJob? {
        if record.state == .completed {
            guard deletesFile, let path = record.path, let finished = record.finished else { return nil }
            return .removeFinished(path: path, identity: finished.identity, byteCount: finished.byteCount)
        }
        guard let path = record.partialPath, let identity = record.partial else { return nil }
        return .discard(path: path, identity: identity)
    }

    /// Does a job, and calls back when it is done; when it takes long, before.
    ///
    /// - Parameter body: gets the path that may not be touched, if that is why nothing was done.
    private func run(_ job: FileJob, limitNanoseconds: Int64, then body: @escaping (String?) -> Void) {
        let once = OneCall<String?> { body($0) }
        submit(job) { [self] outcome in
            guard case .failed(let error) = outcome else { return once(nil) }
            // The record is gone: nobody tries again.
            note(.warn, error.downloadFailure.message, nil)
            once(error.reason == .outsideRoots ? error.path : nil)
        }
        timers.add(.run { once(nil) }, due: now + limitNanoseconds)
    }
}
