internal import Core
internal import Files
internal import Store

/// With roots: records of files that lie elsewhere are left as they are, whether their paths or links say so.
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

    /// Takes over, page by page, all that pass and whose files lie where files may lie.
    ///
    /// - Parameter body: is called for each page, and once more at the end.
    func adoptAll(_ filter: AdoptionFilter, then body: @escaping (Adoption) -> Void) {
        submit(.adoptAll(filter)) { [self] outcome in
            switch outcome {
            case .adopted(let loaded, let isComplete):
                body(.page(loaded))
                if isComplete { body(.end(nil)) } else { adoptAll(filter, then: body) }
            case .unknownDirectories(let directories):
                locate(directories) { [self] look in
                    // Who cannot be asked is left out too.
                    if let trouble = look.trouble { note(.warn, trouble, nil) }
                    var filter = filter
                    for directory in directories {
                        filter.knownDirectories[directory] = look.inside.contains(directory)
                    }
                    adoptAll(filter, then: body)
                }
            case .failed(let error): body(.end(error))
            default: body(.end(nil))
            }
        }
    }

    /// Looks, on a file worker, where these directories lie.
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
            case .located(let outside): once(LookForRoots(outside: outside, inside: asked.subtracting(outside)))
            case .failed(let error): once(LookForRoots(trouble: error.downloadFailure.message))
            default: once(LookForRoots(trouble: "unexpected answer to a look at directories"))
            }
        }
        // A disk that hangs must not hold up the requests behind this one for ever.
        timers.add(
            .run { [self] in
                guard once.isPending else { return }
                hungDirectories.formUnion(asked)
                once(LookForRoots(trouble: asked.min().map(LookForRoots.trouble)))
            }, due: now + Self.lookLimitNanoseconds)
    }
}

/// What comes of taking over all.
enum Adoption {
    case page([LoadedRecord])
    /// With what the store could not do.
    case end(StoreError?)
}

/// Where directories were found to lie; those in neither set could not be looked at.
private struct LookForRoots {
    var outside: Set<String> = []
    var inside: Set<String> = []
    /// Why some could not be.
    var trouble: String?

    static func trouble(_ directory: String) -> String { "the disk of \(directory) does not answer" }
}
