internal import Core

/// Starting downloads, and taking over downloads that no running process owns.
extension StoreWorker {
    /// Maximum number of downloads that one `adoptAll` takes over.
    static let maxAdoptedCount = 1_000

    // MARK: Start

    func start(_ candidate: StartCandidate) throws(StoreError) -> StartOutcome {
        let record = candidate.record
        if let existing = try table.find(id: record.id) {
            let differences = differences(record, existing)
            if candidate.isIDGiven && differences.isEmpty { return try join(existing) }
            return .idConflict(load(existing), differs: differences)
        }
        if !candidate.isIDGiven, let same = try sameDownload(record, givenURL: candidate.givenURL) {
            // Another checksum must not be ignored: the caller would assume that the file passed it.
            if record.checksum != nil, record.checksum != same.checksum {
                return .idConflict(load(same), differs: [.checksum])
            }
            return try join(same)
        }
        guard candidate.mayInsert else { return .absent }
        if let path = record.path(outside: scope) { return .outside(path: path) }
        if let path = record.path, let holder = try table.find(holding: path) {
            return .destinationConflict(id: holder.id)
        }
        let revision = nextRevision()
        var created = record
        created.owner = record.state.isFinal ? nil : session
        created.sequence = revision
        created.revision = revision
        try table.insert(created, owner: created.owner ?? 0, revision: revision)
        try table.deleteTombstone(id: created.id)
        return .created(created)
    }

    /// The download, not final, that a start without an id means.
    private func sameDownload(
        _ record: DownloadRecord, givenURL: String
    ) throws(StoreError) -> DownloadRecord? {
        if let same = try table.find(destinationKey: record.destinationKey, url: record.url) { return same }
        if givenURL != record.url,
            let same = try table.find(destinationKey: record.destinationKey, url: givenURL)
        {
            return same
        }
        guard let path = record.path, let holder = try table.find(holding: path), holder.url == record.url else {
            return nil
        }
        return holder
    }

    private func differences(_ record: DownloadRecord, _ existing: DownloadRecord) -> [StartDifference] {
        let isSamePlace =
            record.destinationKey == existing.destinationKey
            || (record.path != nil && record.path == existing.path)
        var result: [StartDifference] = []
        if record.url != existing.url { result.append(.url) }
        if !isSamePlace { result.append(.destination) }
        if record.checksum != existing.checksum { result.append(.checksum) }
        if record.ifExists != existing.ifExists { result.append(.ifExists) }
        return result
    }

    /// The outcome of a start that names an existing download.
    private func join(_ existing: DownloadRecord) throws(StoreError) -> StartOutcome {
        let loaded = load(existing)
        if existing.state.isFinal { return .existing(loaded) }
        if loaded.ownership == .other { return .ownedElsewhere(loaded) }
        guard loaded.record.state == .paused, loaded.record.reason == .interrupted else { return .existing(loaded) }
        // An `update` has taken it over, and left it as it was.
        if loaded.ownership == .own { return .takenOver(loaded) }
        if let path = existing.path(outside: scope) { return .outside(path: path) }
        guard let taken = try takeOver(loaded, from: existing.owner) else { return .existing(loaded) }
        return .takenOver(taken)
    }

    // MARK: Adopt

    func adopt(_ id: String) throws(StoreError) -> StoreOutcome {
        guard let record = try table.find(id: id) else { return .notFound }
        let loaded = load(record)
        switch loaded.ownership {
        case .own: return .loaded(loaded)
        case .other: return .ownedElsewhere(loaded)
        case .none, .dead:
            if let path = record.path(outside: scope) { return .outside(path: path) }
            guard let taken = try takeOver(loaded, from: record.owner) else { return .notOwned(loaded) }
            return .loaded(taken)
        }
    }

    func requestHandover(_ id: String) throws(StoreError) -> StoreOutcome {
        guard let record = try table.find(id: id) else { return .notFound }
        let loaded = load(record)
        guard loaded.ownership == .other, let owner = record.owner else { return .loaded(loaded) }
        guard record.path(outside: scope) == nil, try table.isYielding(owner) else { return .ownedElsewhere(loaded) }
        try table.insertHandover(id: id)
        return .noted
    }

    func adoptAll(_ filter: AdoptionFilter) throws(StoreError) -> StoreOutcome {
        var adopted: [LoadedRecord] = []
        var unknown: Set<String> = []
        for (state, reason) in storedKinds(filter) {
            for owner in try table.owners(state) where !isTended(owner) && !(filter.onlyOfDead && owner == 0) {
                var last: Int64 = 0
                while true {
                    let limit = Self.maxAdoptedCount - adopted.count + 1
                    let sequences = try table.sequences(state, owner: owner, reason: reason, after: last, limit: limit)
                    for sequence in sequences {
                        let isFull = adopted.count == Self.maxAdoptedCount || unknown.count >= Self.maxAdoptedCount
                        if isFull || isPastDeadline && !(adopted.isEmpty && unknown.isEmpty) {
                            return adopted.isEmpty ? .unknownDirectories(unknown) : .adopted(adopted, isComplete: false)
                        }
                        last = sequence
                        guard let record = try table.find(sequence: sequence),
                            mayAdopt(record, filter.knownDirectories, &unknown)
                        else { continue }
                        let loaded = load(record)
                        // A damaged record may be shown differently than it is stored.
                        guard filter.states.contains(loaded.record.state),
                            let taken = try takeOver(loaded, from: record.owner)
                        else { continue }
                        adopted.append(taken)
                    }
                    if sequences.count < limit { break }
                }
            }
        }
        if adopted.isEmpty, !unknown.isEmpty { return .unknownDirectories(unknown) }
        return .adopted(adopted, isComplete: unknown.isEmpty)
    }

    /// True if all its paths are known to be where files may be.
    ///
    /// - Parameter unknown: receives the directories that must be checked first.
    private func mayAdopt(_ record: DownloadRecord, _ known: [String: Bool], _ unknown: inout Set<String>) -> Bool {
        if scope.isAnywhere { return true }
        guard record.path(outside: scope) == nil else { return false }
        let directories = record.places.map(\.directory)
        if directories.contains(where: { known[$0] == false }) { return false }
        let new = directories.filter { known[$0] == nil }
        unknown.formUnion(new)
        return new.isEmpty
    }

    /// The stored states and reasons that are shown as the requested ones if no running process owns the download.
    private func storedKinds(_ filter: AdoptionFilter) -> [(DownloadState, StateReason?)] {
        var kinds: [(DownloadState, StateReason?)] = []
        for state in DownloadState.allCases {
            if state.isRunning {
                let passes = filter.reasons?.contains(.interrupted) ?? true
                if filter.states.contains(.paused) && passes { kinds.append((state, nil)) }
            } else if filter.states.contains(state) {
                if state == .paused, let reasons = filter.reasons {
                    kinds += reasons.map { (state, $0) }
                } else {
                    kinds.append((state, nil))
                }
            }
        }
        return kinds
    }

    /// Makes this session the owner, and stores the state as shown; nil if another process was faster.
    private func takeOver(_ loaded: LoadedRecord, from oldOwner: Int64?) throws(StoreError) -> LoadedRecord? {
        let revision = try withNextRevision { revision throws(StoreError) in
            try table.takeOver(loaded.record, from: oldOwner ?? 0, to: session, revision: revision)
        }
        guard let revision else { return nil }
        var taken = loaded
        taken.ownership = .own
        taken.record.owner = session
        taken.record.slotIndex = nil
        taken.record.revision = revision
        return taken
    }
}
