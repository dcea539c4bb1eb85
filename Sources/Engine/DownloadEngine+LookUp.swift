internal import Core
internal import Store

/// Where a download was found.
enum FoundDownload {
    /// This process owns it, or has changes that the store does not have yet.
    case held(Download)
    /// In the store; a running process owns it and did not release it.
    case stored(LoadedRecord)
}

extension EngineError {
    /// Another process owns the download.
    init(lockedElsewhere loaded: LoadedRecord) {
        let owner = loaded.ownerProcessID.map { OwnerProcess(id: $0, yields: loaded.ownerYields) }
        self = .lockedElsewhere(id: loaded.record.id, owner: owner)
    }
}

/// How commands find their download.
extension DownloadEngine {
    /// Finds a download; if another running process owns it, asks that process first.
    ///
    /// - Parameter mayAsk: false once that was done.
    func lookUp(
        _ id: String, mayAsk: Bool = true, then body: @escaping (Result<FoundDownload, EngineError>) -> Void
    ) {
        if let download = downloads[id] {
            if download.isPublishing {
                // The rename is running: waits for its result.
                return download.afterPublishing.append { [self] in lookUp(id, mayAsk: mayAsk, then: body) }
            }
            if download.record.state.isFinal, !download.isUnsaved {
                // Its end is being reported; after that the record must be taken over again from the store.
                return answer { [self] in
                    if downloads[id] === download { letGoOfEnded(download) }
                    lookUp(id, mayAsk: mayAsk, then: body)
                }
            }
            return body(.success(.held(download)))
        }
        submit(.get(id: id)) { [self] outcome in
            permit(loaded(id, outcome)) { [self] permitted in
                switch permitted {
                case .success(let loaded) where loaded.ownership == .other && mayAsk:
                    askForHandover(id) { [self] _ in lookUp(id, mayAsk: false, then: body) }
                case .success(let loaded): body(.success(.stored(loaded)))
                case .failure(let error): body(.failure(error))
                }
            }
        }
    }

    /// Drops a download that was already final when it was taken over, so that no end is being reported.
    private func letGoOfEnded(_ download: Download) {
        let isOurs = download.record.owner != nil && !download.isDiscarding
        evict(download)
        if isOurs, downloads[download.id] == nil { submit(.release(id: download.id)) { _ in } }
    }

    /// Takes over a stored download.
    func adopt(_ id: String, then body: @escaping (Result<LoadedRecord, EngineError>) -> Void) {
        submit(.adopt(id: id)) { outcome in
            switch outcome {
            case .success(.adopted(let adopted)): body(.success(adopted))
            case .success(.ownedElsewhere(let loaded)): body(.failure(EngineError(lockedElsewhere: loaded)))
            case .success(.outside(let path)): body(.failure(.outsideRoots(path: path)))
            case .success(.gone), .failure:
                body(.failure(.storageFailure(message: "the download could not be taken over")))
            }
        }
    }
}
