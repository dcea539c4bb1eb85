/// An operation with the type of its answer, so that the caller handles only outcomes that it can have.
///
/// Each factory is described at the `StoreOperation` of the same name.
package struct StoreRequest<Answer: Sendable>: Sendable {
    package let operation: StoreOperation
    private let read: @Sendable (StoreOutcome) -> Answer?

    fileprivate init(_ operation: StoreOperation, _ read: @escaping @Sendable (StoreOutcome) -> Answer?) {
        self.operation = operation
        self.read = read
    }

    /// The outcome of this operation as its typed answer; a failure if nothing was changed.
    package func result(_ outcome: StoreOutcome) -> Result<Answer, StoreError> {
        if case .failed(let error) = outcome { return .failure(error) }
        if let answer = read(outcome) { return .success(answer) }
        assertionFailure("the store answered with \(outcome)")
        return .failure(.wrongAnswer)
    }
}

/// The result of a change to a record that this session owns.
package enum SaveAnswer: Equatable, Sendable {
    /// The new revision of the row.
    case saved(revision: Int64)
    /// Another download that is not final has the destination.
    case destinationConflict(id: String)
    /// This session does not own it, or it does not exist.
    case notOurs

    fileprivate init?(_ outcome: StoreOutcome) {
        switch outcome {
        case .saved(let revision): self = .saved(revision: revision)
        case .destinationConflict(let id): self = .destinationConflict(id: id)
        case .notOwned, .ownedElsewhere, .notFound: self = .notOurs
        default: return nil
        }
    }
}

/// The result of taking a download over.
package enum AdoptAnswer: Equatable, Sendable {
    indirect case adopted(LoadedRecord)
    /// Another running process owns it.
    indirect case ownedElsewhere(LoadedRecord)
    /// One of its paths is where files may not be.
    case outside(path: String)
    /// It does not exist, or another process was faster.
    case gone

    fileprivate init?(_ outcome: StoreOutcome) {
        switch outcome {
        case .loaded(let loaded): self = .adopted(loaded)
        case .ownedElsewhere(let loaded): self = .ownedElsewhere(loaded)
        case .outside(let path): self = .outside(path: path)
        case .notFound, .notOwned: self = .gone
        default: return nil
        }
    }
}

/// The result of taking over all downloads that pass a filter.
package enum AdoptAllAnswer: Equatable, Sendable {
    /// `isComplete` is false if more downloads may pass: repeat the operation.
    case adopted([LoadedRecord], isComplete: Bool)
    /// None was taken over: first check whether links lead out of these directories, then repeat with the answer.
    case unknownDirectories(Set<String>)

    fileprivate init?(_ outcome: StoreOutcome) {
        switch outcome {
        case .adopted(let loaded, let isComplete): self = .adopted(loaded, isComplete: isComplete)
        case .unknownDirectories(let directories): self = .unknownDirectories(directories)
        default: return nil
        }
    }
}

/// The result of a removal.
package enum DeleteAnswer: Equatable, Sendable {
    /// The revision of the tombstone.
    case deleted(revision: Int64)
    case notFound
    indirect case notFinal(LoadedRecord)
    /// Another running process owns it.
    indirect case ownedElsewhere(LoadedRecord)
    /// One of its paths is where files may not be.
    case outside(path: String)

    fileprivate init?(_ outcome: StoreOutcome) {
        switch outcome {
        case .deleted(_, let revision): self = .deleted(revision: revision)
        case .notFound: self = .notFound
        case .notFinal(let loaded): self = .notFinal(loaded)
        case .ownedElsewhere(let loaded): self = .ownedElsewhere(loaded)
        case .outside(let path): self = .outside(path: path)
        default: return nil
        }
    }
}

/// The result of a list.
package enum ListQueryAnswer: Equatable, Sendable {
    case page(ListPage)
    case invalidCursor
    /// Removals after the requested revision are not known any more: list everything.
    case cursorExpired

    fileprivate init?(_ outcome: StoreOutcome) {
        switch outcome {
        case .page(let page): self = .page(page)
        case .invalidCursor: self = .invalidCursor
        case .cursorExpired: self = .cursorExpired
        default: return nil
        }
    }
}

/// The result of asking an owner for a download.
package enum HandoverAnswer: Equatable, Sendable {
    /// The request is stored for the owner.
    case noted
    /// Nobody owns it, or this session does.
    case free
    /// Its owner does not yield, or it does not exist.
    case refused

    fileprivate init?(_ outcome: StoreOutcome) {
        switch outcome {
        case .noted: self = .noted
        case .loaded: self = .free
        case .ownedElsewhere, .notFound: self = .refused
        default: return nil
        }
    }
}

extension StoreRequest<StartOutcome> {
    package static func start(_ candidate: StartCandidate) -> Self {
        Self(.start(candidate)) { if case .started(let outcome) = $0 { outcome } else { nil } }
    }
}

extension StoreRequest<SaveAnswer> {
    package static func save(_ record: DownloadRecord) -> Self { Self(.save(record), SaveAnswer.init) }

    package static func claimDestination(id: String, path: String) -> Self {
        Self(.claimDestination(id: id, path: path), SaveAnswer.init)
    }

    package static func release(id: String) -> Self { Self(.release(id: id), SaveAnswer.init) }
}

extension StoreRequest<AdoptAnswer> {
    package static func adopt(id: String) -> Self { Self(.adopt(id: id), AdoptAnswer.init) }
}

extension StoreRequest<AdoptAllAnswer> {
    package static func adoptAll(_ filter: AdoptionFilter) -> Self { Self(.adoptAll(filter), AdoptAllAnswer.init) }
}

extension StoreRequest<DeleteAnswer> {
    package static func delete(id: String) -> Self { Self(.delete(id: id), DeleteAnswer.init) }
}

extension StoreRequest<ListQueryAnswer> {
    package static func list(_ query: ListQuery) -> Self { Self(.list(query), ListQueryAnswer.init) }
}

extension StoreRequest<HandoverAnswer> {
    package static func requestHandover(id: String) -> Self {
        Self(.requestHandover(id: id), HandoverAnswer.init)
    }
}

extension StoreRequest<LoadedRecord?> {
    /// Answers with nil if it does not exist.
    package static func get(id: String) -> Self { Self(.get(id: id), found) }

    /// Answers with nil if it does not exist.
    package static func getFinished(path: String, url: String) -> Self {
        Self(.getFinished(path: path, url: url), found)
    }

    private static let found: @Sendable (StoreOutcome) -> LoadedRecord?? = {
        switch $0 {
        case .loaded(let loaded): .some(loaded)
        case .notFound: .some(nil)
        default: nil
        }
    }
}

extension StoreRequest<[[UInt8]]> {
    package static func resumeKeys(makes: Bool) -> Self {
        Self(.resumeKeys(makes: makes)) { if case .resumeKeys(let keys) = $0 { keys } else { nil } }
    }
}

extension StoreRequest<[String]> {
    package static var handovers: Self {
        Self(.handovers) { if case .handovers(let ids) = $0 { ids } else { nil } }
    }
}

extension StoreRequest<Void> {
    /// Also succeeds if the progress is of an earlier attempt, or of a record that this session does not own any more.
    package static func saveProgress(_ save: ProgressSave) -> Self {
        Self(.saveProgress(save)) {
            switch $0 {
            case .progressSaved, .stale, .notOwned, .ownedElsewhere, .notFound: ()
            default: nil
            }
        }
    }

    package static var beginYielding: Self { Self(.beginYielding, noted) }

    package static func endHandover(id: String) -> Self { Self(.endHandover(id: id), noted) }

    private static let noted: @Sendable (StoreOutcome) -> Void? = { if case .noted = $0 { () } else { nil } }
}
