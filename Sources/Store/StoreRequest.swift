/// An operation with the type of its answer: what cannot come back cannot be switched over.
///
/// Each factory is described at the `StoreOperation` of its name.
package struct StoreRequest<Answer: Sendable>: Sendable {
    package let operation: StoreOperation
    private let read: @Sendable (StoreOutcome) -> Answer?

    fileprivate init(_ operation: StoreOperation, _ read: @escaping @Sendable (StoreOutcome) -> Answer?) {
        self.operation = operation
        self.read = read
    }

    /// The typed answer that an outcome of this operation is; fails when nothing was changed.
    package func result(_ outcome: StoreOutcome) -> Result<Answer, StoreError> {
        if case .failed(let error) = outcome { return .failure(error) }
        if let answer = read(outcome) { return .success(answer) }
        assertionFailure("the store answered with \(outcome)")
        return .failure(.wrongAnswer)
    }
}

/// What became of a change to a record that this session owns.
package enum SaveAnswer: Equatable, Sendable {
    /// The row's revision now.
    case saved(revision: Int64)
    /// Another download that is not final holds the destination.
    case destinationConflict(id: String)
    /// This session does not own it, or there is none.
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

/// What became of taking a download over.
package enum AdoptAnswer: Equatable, Sendable {
    indirect case adopted(LoadedRecord)
    /// A living process works on it.
    indirect case ownedElsewhere(LoadedRecord)
    /// A path of it lies where files may not lie.
    case outside(path: String)
    /// There is none, or another process was faster.
    case notFound

    fileprivate init?(_ outcome: StoreOutcome) {
        switch outcome {
        case .loaded(let loaded): self = .adopted(loaded)
        case .ownedElsewhere(let loaded): self = .ownedElsewhere(loaded)
        case .outside(let path): self = .outside(path: path)
        case .notFound, .notOwned: self = .notFound
        default: return nil
        }
    }
}

/// What became of taking over all that pass.
package enum AdoptAllAnswer: Equatable, Sendable {
    /// `isComplete` is false when more may pass: ask again.
    case adopted([LoadedRecord], isComplete: Bool)
    /// None was taken over: whether links lead out of these decides, so ask again with that known.
    case unknownDirectories(Set<String>)

    fileprivate init?(_ outcome: StoreOutcome) {
        switch outcome {
        case .adopted(let loaded, let isComplete): self = .adopted(loaded, isComplete: isComplete)
        case .unknownDirectories(let directories): self = .unknownDirectories(directories)
        default: return nil
        }
    }
}

/// What became of a removal.
package enum DeleteAnswer: Equatable, Sendable {
    /// The tombstone's revision.
    case deleted(revision: Int64)
    case notFound
    indirect case notFinal(LoadedRecord)
    /// A living process works on it.
    indirect case ownedElsewhere(LoadedRecord)
    /// A path of it lies where files may not lie.
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

/// What a list comes to.
package enum ListQueryAnswer: Equatable, Sendable {
    case page(ListPage)
    case invalidCursor
    /// Removals after the revision asked for are no longer known: list everything.
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

/// What a yielding owner is asked for comes to.
package enum HandoverAnswer: Equatable, Sendable {
    /// The owner will be told.
    case noted
    /// It is nobody's already, or ours.
    case free
    /// Its owner does not yield, or there is none such.
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
    /// Answers with nil when there is none.
    package static func get(id: String) -> Self { Self(.get(id: id), found) }

    /// Answers with nil when there is none.
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
    /// Succeeds also where the progress is that of an attempt that is over, or of a record that is not ours any more.
    package static func saveProgress(_ save: ProgressSave) -> Self {
        Self(.saveProgress(save)) { _ in () }
    }

    package static var beginYielding: Self { Self(.beginYielding, noted) }

    package static func endHandover(id: String) -> Self { Self(.endHandover(id: id), noted) }

    private static let noted: @Sendable (StoreOutcome) -> Void? = { if case .noted = $0 { () } else { nil } }
}
