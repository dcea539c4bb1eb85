internal import Core
internal import Files
internal import Platform
internal import Store

/// `remove`: deletes the record of a final download, and the files that would be left.
extension DownloadEngine {
    /// Removes a download in a final state.
    ///
    /// - Parameter deletesFile: also deletes the finished file, if it is still the one in the record. `downloadRemoved`
    ///   is called after the answer.
    package func remove(id: String, deletesFile: Bool, reply: @escaping Reply<Void>) {
        pipeline.append(
            .run { [self] in
                if isClosed { return answer { reply(.failure(.shuttingDown)) } }
                if let held = downloads[id], !held.record.state.isFinal {
                    let error = EngineError.invalidState(id: id, state: held.record.state, command: .remove)
                    return answer { reply(.failure(error)) }
                }
                // The store may not have its end yet.
                if downloads[id]?.isUnsaved == true { retryCommit() }
                pipeline.block()
                removeFinal(id, deletesFile: deletesFile) { [self] result in
                    answer { reply(result.map { _ in }) }
                    if case .success(let revision) = result { outbox.append(.removal(id: id, revision: revision)) }
                    unblock()
                }
            })
    }

    /// The file is deleted first: after a kill in between there is still a record, which can be removed again.
    private func removeFinal(
        _ id: String, deletesFile: Bool, then body: @escaping (Result<Int64, EngineError>) -> Void
    ) {
        submit(.get(id: id)) { [self] outcome in
            guard case .success(let loaded?) = outcome, loaded.ownership != .other else {
                return delete(id, then: body)
            }
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
            switch outcome {
            case .success(.adopted):
                run(job, limitNanoseconds: Self.quietLimitNanoseconds) { [self] outsidePath in
                    guard let outsidePath else { return delete(id, then: body) }
                    submit(.release(id: id)) { _ in }
                    body(.failure(.outsideRoots(path: outsidePath)))
                }
            case .success(.ownedElsewhere(let loaded)): body(.failure(EngineError(lockedElsewhere: loaded)))
            case .success(.outside(let path)): body(.failure(.outsideRoots(path: path)))
            // Another process was faster: the result of `delete` shows what it did.
            case .success(.gone): delete(id, then: body)
            case .failure(let error): body(.failure(EngineError(error)))
            }
        }
    }

    private func delete(_ id: String, then body: @escaping (Result<Int64, EngineError>) -> Void) {
        submit(.delete(id: id)) { [self] outcome in removed(id, outcome, then: body) }
    }

    private func removed(
        _ id: String, _ outcome: Result<DeleteAnswer, StoreError>,
        then body: @escaping (Result<Int64, EngineError>) -> Void
    ) {
        switch outcome {
        case .success(.deleted(let revision)):
            self.revision = max(self.revision, revision)
            discards.keep(id)
            body(.success(revision))
        case .success(.notFound): body(.failure(.downloadNotFound(id: id)))
        case .success(.notFinal(let loaded)):
            body(.failure(.invalidState(id: id, state: loaded.record.state, command: .remove)))
        case .success(.ownedElsewhere(let loaded)): body(.failure(EngineError(lockedElsewhere: loaded)))
        case .success(.outside(let path)): body(.failure(.outsideRoots(path: path)))
        case .failure(let error):
            submit(.release(id: id)) { _ in }
            body(.failure(EngineError(error)))
        }
    }

    /// The job that deletes the files of a removed download; nil if there are none.
    private func removalJob(_ record: DownloadRecord, deletesFile: Bool) -> FileRequest<Removal>? {
        if record.state == .completed {
            guard deletesFile, let path = record.path, let finished = record.finished else { return nil }
            return .removeFinished(path: path, identity: finished.identity, byteCount: finished.byteCount)
        }
        guard let path = record.partialPath, let identity = record.partial else { return nil }
        return .discard(path: path, identity: identity)
    }

    /// Runs a job and calls back when it is done, or before that if it takes long.
    ///
    /// - Parameter body: receives the path that may not be touched, if that is why nothing was done.
    private func run(
        _ job: FileRequest<Removal>, limitNanoseconds: Int64, then body: @escaping (String?) -> Void
    ) {
        let once = OneCall<String?> { body($0) }
        submit(job) { [self] outcome in
            guard case .failure(let error) = outcome else { return once(nil) }
            // The record is deleted: nobody tries again.
            note(.warn, error.downloadFailure.message, nil)
            once(error.reason == .outsideRoots ? error.path : nil)
        }
        timers.add(.run { once(nil) }, due: now + limitNanoseconds)
    }
}
