import Core
import Platform
import Store
import Testing

@Suite struct OwnerTests {
    /// A directory in which a process made records and was killed.
    private func abandoned(_ records: [DownloadRecord], slots: [ProgressRecord] = []) throws -> TemporaryDirectory {
        let directory = TemporaryDirectory()
        let client = try Client(directory)
        for record in records { _ = try client.create(record) }
        for (index, slot) in slots.enumerated() {
            try client.store.session.write(ProgressSlot.encode(slot), slot: index)
        }
        return directory
    }

    private func record(_ id: String, _ state: DownloadState, _ reason: StateReason? = nil) -> DownloadRecord {
        var record = StoreTests.record(id)
        record.state = state
        record.reason = reason
        record.isFinalizing = state == .active
        record.intent = reason == .user ? .paused : .run
        return record
    }

    @Test(
        arguments: [
            (DownloadState.queued, nil, DownloadState.paused, StateReason.interrupted),
            (.active, nil, .paused, .interrupted),
            (.waiting, .retry, .paused, .interrupted),
            (.waiting, .needsUrl, .paused, .interrupted),
            (.paused, .user, .paused, .user),
            (.paused, .interrupted, .paused, .interrupted),
            (.failed, nil, .failed, nil),
            (.completed, nil, .completed, nil),
            (.canceled, nil, .canceled, nil),
        ] as [(DownloadState, StateReason?, DownloadState, StateReason?)])
    func `a dead owner's download reads as interrupted unless the user paused it`(
        stored: DownloadState,
        storedReason: StateReason?,
        state: DownloadState,
        reason: StateReason?
    ) throws {
        let client = try Client(try abandoned([record("a", stored, storedReason)]))
        let loaded = try client.get("a")
        #expect(loaded.record.state == state)
        #expect(loaded.record.reason == reason)
        #expect(loaded.record.isFinalizing == (stored == .active))
        #expect(loaded.ownership == (stored.isFinal ? .none : .dead))
        #expect(try client.page(ListQuery(states: [state])).records == [loaded])
        let others = Set(DownloadState.allCases).subtracting([state])
        #expect(try client.page(ListQuery(states: others)).records.isEmpty)
        #expect(try client.perform(.counts) == .counted(counts([state: 1])))
    }

    private func counts(_ byState: [DownloadState: Int]) -> StoreCounts {
        var counts = StoreCounts()
        counts.byState = byState
        return counts
    }

    @Test func `a start takes over what an interruption stopped`() throws {
        let client = try Client(try abandoned([record("a", .active)]))
        guard case .takenOver(let taken) = try client.start(record("a", .queued)) else { throw Unexpected("start") }
        #expect(taken.ownership == .own)
        #expect(taken.record.state == .paused)
        #expect(taken.record.reason == .interrupted)
        #expect(taken.record.isFinalizing)
        #expect(try client.get("a") == taken)
        #expect(try client.start(record("a", .queued)) == .takenOver(taken))
    }

    @Test func `a start leaves what the user paused`() throws {
        let client = try Client(try abandoned([record("a", .paused, .user)]))
        guard case .existing(let loaded) = try client.start(record("a", .queued)) else { throw Unexpected("start") }
        #expect(loaded.ownership == .dead)
        #expect(loaded.record.reason == .user)
        guard case .loaded(let adopted) = try client.perform(.adopt(id: "a")) else { throw Unexpected("adopt") }
        #expect(adopted.record.reason == .user)
        #expect(adopted.ownership == .own)
    }

    @Test func `of two that take over one wins`() async throws {
        let directory = try abandoned((0..<50).map { record("id-\($0)", .active) })
        let clients = try [Client(directory), Client(directory)]
        let outcomes = try await withThrowingTaskGroup(of: [StoreOutcome].self) { group in
            for client in clients {
                group.addTask { client.performAll((0..<50).map { .adopt(id: "id-\($0)") }) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        for index in 0..<50 {
            let won = outcomes.filter { if case .loaded = $0[index] { true } else { false } }
            let lost = outcomes.filter { if case .ownedElsewhere = $0[index] { true } else { false } }
            #expect(won.count == 1 && lost.count == 1)
        }
    }

    @Test func `a dead owner's marks come with its record and stay after the next death`() throws {
        let marks = try progress("a", ByteRangeSet(0, 5_000))
        let older = try progress("a", attempt: 0, ByteRangeSet(0, 9_000))
        let directory = try abandoned([record("a", .active), record("b", .active)], slots: [older, marks])
        do {
            let client = try Client(directory)
            #expect(try client.get("a").record.written == marks)
            #expect(try client.get("b").record.written == nil)
            guard case .loaded(let adopted) = try client.perform(.adopt(id: "a")) else { throw Unexpected("adopt") }
            #expect(adopted.record.written == marks)
        }
        // This process was also killed before it wrote a mark of its own.
        let last = try Client(directory)
        #expect(try last.get("a").ownership == .dead)
        #expect(try last.get("a").record.written == marks)
    }

    @Test func `a living owner's marks are seen by others`() throws {
        let directory = TemporaryDirectory()
        let owner = try Client(directory)
        let other = try Client(directory)
        _ = try owner.create(record("a", .active))
        for end: Int64 in [1_000, 2_000] {
            let marks = try progress("a", ByteRangeSet(0, end))
            try owner.store.session.write(ProgressSlot.encode(marks), slot: 3)
            #expect(try other.get("a").record.written == marks)
        }
        try owner.store.session.clear(slot: 3)
        #expect(try other.get("a").record.written == nil)
    }

    @Test func `a wrong slot hint is no harm`() throws {
        let marks = try progress("a", ByteRangeSet(0, 5_000))
        let stranger = try progress("b", ByteRangeSet(0, 7_000))
        for hint in [0, 1, 2, -1, .max] {
            var hinted = record("a", .active)
            hinted.slotIndex = hint
            let client = try Client(try abandoned([hinted], slots: [stranger, marks]))
            #expect(try client.get("a").record.written == marks)
        }
    }

    @Test func `what was released is taken by whoever comes`() throws {
        let directory = TemporaryDirectory()
        let first = try Client(directory)
        let second = try Client(directory)
        _ = try first.create(record("a", .active))
        guard case .saved = try first.perform(.release(id: "a")) else { throw Unexpected("release") }
        #expect(try second.get("a").ownership == .none)
        #expect(try second.get("a").record.reason == .interrupted)
        guard case .loaded = try second.perform(.adopt(id: "a")) else { throw Unexpected("adopt") }
        #expect(try first.get("a").ownership == .other)
    }

    @Test func `adopting all takes what passes, in as many turns as it needs`() throws {
        var records = (0..<2_500).map { record("run-\($0)", .queued) }
        records += [
            record("user", .paused, .user), record("failed", .failed), record("stopped", .paused, .interrupted),
        ]
        let directory = TemporaryDirectory()
        do {
            let client = try Client(directory)
            _ = client.performAll(records.map { .start(StartCandidate(record: $0, isIDGiven: true)) })
        }
        let client = try Client(directory)
        var adopted: [String] = []
        var turns = 0
        while true {
            turns += 1
            guard case .adopted(let some, let isComplete) = try client.perform(.adoptAll(.interrupted)) else {
                throw Unexpected("adoptAll")
            }
            #expect(some.allSatisfy { $0.ownership == .own && $0.record.reason == .interrupted })
            adopted += some.map(\.record.id)
            if isComplete { break }
            #expect(!some.isEmpty)
        }
        #expect(turns > 2)
        #expect(adopted.count == 2_501)
        #expect(Set(adopted).count == 2_501)
        let failed = AdoptionFilter(states: [.failed])
        guard case .adopted(let some, true) = try client.perform(.adoptAll(failed)) else {
            throw Unexpected("adoptAll")
        }
        #expect(some.map(\.record.id) == ["failed"])
        #expect(try client.get("user").ownership == .dead)
    }

    @Test func `with roots, adopting all asks once for each directory and leaves out what lies outside`() throws {
        let directory = TemporaryDirectory()
        do {
            let client = try Client(directory)
            let records = (0..<2_500).map { StoreTests.record("run-\($0)", path: "/r/\($0 % 1_250)/\($0)") }
            _ = client.performAll(records.map { .start(StartCandidate(record: $0, isIDGiven: true)) })
            _ = try client.create(StoreTests.record("out", path: "/rest/f"))
        }
        let client = try Client(directory, scope: PathScope([PathScope.Root(path: "/r", realPath: "/r")]))
        var filter = AdoptionFilter.interrupted
        var adopted: Set<String> = []
        asking: while true {
            switch try client.perform(.adoptAll(filter)) {
            case .unknownDirectories(let directories):
                #expect(!directories.isEmpty && directories.count <= 1_001)
                for name in directories {
                    #expect(filter.knownDirectories[name] == nil)
                    filter.knownDirectories[name] = name.hasSuffix("1")
                }
            case .adopted(let page, let isComplete):
                for loaded in page { #expect(adopted.insert(loaded.record.id).inserted) }
                if isComplete { break asking }
                #expect(!page.isEmpty)
            case let other: throw Unexpected(other)
            }
        }
        #expect(filter.knownDirectories.count == 1_250)
        #expect(adopted == Set((0..<2_500).filter { $0 % 1_250 % 10 == 1 }.map { "run-\($0)" }))
        #expect(try client.get("run-2").ownership == .dead)
    }
}
