internal import Core
internal import Store

/// Where a download was found.
enum FoundDownload {
    /// This process works on it, or holds what the store does not know yet.
    case held(Download)
    /// In the store; a living process that owns it was asked for it in vain.
    case stored(LoadedRecord)
}

extension EngineError {
    /// Another process has the download.
    init(lockedElsewhere loaded: LoadedRecord) {
        let owner = loaded.ownerProcessID.map { OwnerProcess(id: $0, yields: loaded.ownerYields) }
        self = .lockedElsewhere(id: loaded.record.id, owner: owner)
    }
}

/// How commands come by the download that they are for.
extension DownloadEngine {
    /// Finds a download; one that a living process owns is asked for first.
    ///
    /// - Parameter mayAsk: false once that was done.
    func lookUp(
        _ id: String, mayAsk: Bool = true, then body: @escaping (Result<FoundDownload, EngineError>) -> Void
    ) {
        if let download = downloads[id] {
            if download.isPublishing {
                // The rename is under way: waits for what comes of it.
                return download.afterPublishing.append { [self] in lookUp(id, mayAsk: mayAsk, then: body) }
            }
            if download.record.state.isFinal, !download.isUnsaved {
                // Its end is on its way to the client; after that the record is the store's, to be taken over anew.
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

    /// Forgets one that is over, and whose end was not on its way to anybody: it was over when it was taken over.
    private func letGoOfEnded(_ download: Download) {
        let isOurs = download.record.owner != nil && !download.isDiscarding
        evict(download)
        if isOurs, downloads[download.id] == nil { submit(.release(id: download.id)) { _ in } }
    }

    /// Makes a stored download this process's own.
    func adopt(_ id: String, then body: @escaping (Result<LoadedRecord, EngineError>) -> Void) {
        submit(.adopt(id: id)) { outcome in
            switch outcome {
            case .loaded(let adopted): body(.success(adopted))
            case .ownedElsewhere(let loaded): body(.failure(EngineError(lockedElsewhere: loaded)))
            case .outside(let path): body(.failure(.outsideRoots(path: path)))
            default: body(.failure(.storageFailure(message: "the download could not be taken over")))
            }
        }
    }
}
