internal import Core
internal import Files
internal import Store

/// With `--root`: records of files outside are not touched, whether their paths or links lead there.
extension DownloadEngine {
    /// Refuses a record of a file that this process may not touch.
    func permit(
        _ found: Result<LoadedRecord, EngineError>, then body: @escaping (Result<LoadedRecord, EngineError>) -> Void
    ) {
        guard case .success(let loaded) = found, !store.scope.isAnywhere else { return body(found) }
        if let path = loaded.record.path(outside: store.scope) { return body(.failure(.outsideRoots(path: path))) }
        let places = loaded.record.places
        locate(Set(places.map(\.directory))) { look in
            if let (path, _) = places.first(where: { look.outside.contains($0.directory) }) {
                return body(.failure(.outsideRoots(path: path)))
            }
            if let trouble = look.trouble { return body(.failure(.storageFailure(message: trouble))) }
            body(found)
        }
    }

    /// Takes over, page by page, all downloads that pass and whose files are where files may be.
    ///
    /// - Parameter body: called for each page, and once more at the end.
    func adoptAll(_ filter: AdoptionFilter, then body: @escaping (Adoption) -> Void) {
        submit(.adoptAll(filter)) { [self] outcome in
            switch outcome {
            case .success(.adopted(let loaded, let isComplete)):
                body(.page(loaded))
                if isComplete { body(.end(nil)) } else { adoptAll(filter, then: body) }
            case .success(.unknownDirectories(let directories)):
                locate(directories) { [self] look in
                    // Directories that cannot be checked are left out too.
                    if let trouble = look.trouble { note(.warn, trouble, nil) }
                    var filter = filter
                    for directory in directories {
                        filter.knownDirectories[directory] = look.inside.contains(directory)
                    }
                    adoptAll(filter, then: body)
                }
            case .failure(let error): body(.end(error))
            }
        }
    }

    /// Finds out with a file worker where these directories are.
    private func locate(_ directories: Set<String>, then body: @escaping (LookForRoots) -> Void) {
        let hung = directories.intersection(hungDirectories)
        let asked = directories.subtracting(hung)
        let once = OneCall<LookForRoots> { look in
            var look = look
            if let directory = hung.min() { look.trouble = LookForRoots.trouble(directory) }
            body(look)
        }
        if asked.isEmpty { return once(LookForRoots()) }
        submit(.locate(directories: asked.sorted())) { [self] outcome in
            hungDirectories.subtract(asked)
            switch outcome {
            case .success(let outside): once(LookForRoots(outside: outside, inside: asked.subtracting(outside)))
            case .failure(let error): once(LookForRoots(trouble: error.downloadFailure.message))
            }
        }
        // A disk that hangs must not block later requests for ever.
        timers.add(
            .run { [self] in
                guard once.isPending else { return }
                hungDirectories.formUnion(asked)
                once(LookForRoots(trouble: asked.min().map(LookForRoots.trouble)))
            }, due: now + Self.lookLimitNanoseconds)
    }
}

/// The result of taking over downloads.
enum Adoption {
    case page([LoadedRecord])
    /// With the error of the store, if any.
    case end(StoreError?)
}

/// Where directories were found to be; those in neither set could not be checked.
private struct LookForRoots {
    var outside: Set<String> = []
    var inside: Set<String> = []
    /// Why some could not be checked.
    var trouble: String?

    static func trouble(_ directory: String) -> String { "the disk of \(directory) does not answer" }
}
