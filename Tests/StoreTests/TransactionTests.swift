import Core
import Platform
import Store
import Testing

@Suite struct TransactionTests {
    @Test func `reads see the writes before them`() throws {
        let client = try Client(TemporaryDirectory())
        let outcomes = client.performAll([
            .get(id: "a"), .start(StartCandidate(record: record("a"), isIDGiven: true)), .get(id: "a"),
            .list(ListQuery()), .counts,
        ])
        #expect(outcomes[0] == .notFound)
        guard case .loaded(let loaded) = outcomes[2], case .page(let page) = outcomes[3] else {
            throw Unexpected(outcomes)
        }
        #expect(page.records == [loaded])
        #expect(page.revision == loaded.record.revision)
        guard case .counted(let counts) = outcomes[4] else { throw Unexpected(outcomes[4]) }
        #expect(counts.total == 1)
    }

    @Test func `a conflict does not undo its neighbours`() throws {
        let client = try Client(TemporaryDirectory())
        let first = try client.create(record("a", path: "/d/x"))
        var second = try client.create(record("b", path: "/d/y"))
        second.path = "/d/x"
        var renamed = first
        renamed.priority = 9
        let outcomes = client.performAll([
            .start(StartCandidate(record: record("c"), isIDGiven: true)), .save(second), .save(renamed),
            .start(StartCandidate(record: record("d", path: "/d/x"), isIDGiven: true)),
            .start(StartCandidate(record: record("e"), isIDGiven: true)), .save(record("unknown")),
        ])
        #expect(outcomes[1] == .destinationConflict(id: "a"))
        #expect(outcomes[3] == .started(.destinationConflict(id: "a")))
        #expect(outcomes[5] == .notFound)
        #expect(try client.get("a").record.priority == 9)
        #expect(try client.get("b").record.path == "/d/y")
        #expect(try client.all(ListQuery()) == ["a", "b", "c", "e"])
    }

    @Test func `each changed row has a revision of its own and progress has none`() throws {
        let client = try Client(TemporaryDirectory())
        let records = try ["a", "b"].map { try client.create(record($0)) }
        var revisions = records.map(\.revision)
        for record in records + records { revisions.append(try client.save(record)) }
        #expect(Set(revisions).count == 6)
        #expect(revisions == revisions.sorted())
        let before = try client.page(ListQuery()).revision
        let save = ProgressSave(
            id: "a",
            attempt: 1,
            durable: ByteRangeSet(0, 4096),
            transferredByteCount: 4096,
            wastedByteCount: 7
        )
        #expect(try client.perform(.saveProgress(save)) == .progressSaved)
        #expect(try client.page(ListQuery()).revision == before)
        let loaded = try client.get("a").record
        #expect(loaded.durable == ByteRangeSet(0, 4096))
        #expect(loaded.transferredByteCount == 4096)
        #expect(loaded.wastedByteCount == 7)
        var stale = save
        stale.attempt = 0
        #expect(try client.perform(.saveProgress(stale)) == .stale)
        stale.id = "z"
        #expect(try client.perform(.saveProgress(stale)) == .notFound)
    }

    @Test func `a transaction that fails applies none of its operations`() throws {
        let directory = TemporaryDirectory()
        let client = try Client(directory)
        let created = try client.create(record("a"))
        let saboteur = try Database(
            path: directory.path + "/towline.db",
            modeSource: directory.path + "/state.lock",
            busyLimitMilliseconds: 5_000
        )
        // The change of one row fails like a broken statement, after other changes in the transaction.
        var only = record("only")
        only.priority = 13
        _ = try client.create(only)
        try saboteur.run("CREATE UNIQUE INDEX sabotage ON download(priority) WHERE priority = 13")
        // The inbox is taken as a whole only while the store thread waits: hold the write lock until all jobs are
        // queued.
        try saboteur.run("BEGIN IMMEDIATE")
        var good = created
        good.priority = 1
        var bad = created
        bad.priority = 13
        let operations: [StoreOperation] = [
            .save(good), .start(StartCandidate(record: record("b"), isIDGiven: true)), .save(bad),
        ]
        // In its own transaction, which waits for the lock, while the other three are queued.
        client.store.submit(.save(created), ticket: 100)
        for (index, operation) in operations.enumerated() { client.store.submit(operation, ticket: UInt64(index)) }
        try saboteur.run("COMMIT")
        var results: [StoreResult] = []
        while results.count < 4 { results += client.store.results.waitAndTakeAll() ?? [] }
        let failures = results.filter { if case .failed = $0.outcome { true } else { false } }
        #expect(failures.contains { $0.ticket == 2 })
        for result in results where result.ticket < 2 {
            // An operation in the transaction of the failing one failed too, otherwise it was applied.
            let isApplied =
                result.ticket == 0
                ? try client.get("a").record.priority == 1
                : try client.perform(.get(id: "b")) != .notFound
            #expect(isApplied != failures.contains(result))
        }
        #expect(results.map(\.ticket) == [100, 0, 1, 2])
        try saboteur.run("DROP INDEX sabotage")
        #expect(try client.save(bad) > 0)
    }

    @Test func `a lock that is never given up fails the operation as busy`() throws {
        let directory = TemporaryDirectory()
        var configuration = StoreConfiguration(location: .directory(directory.path))
        configuration.busyLimitMilliseconds = 20
        let store = try Store(configuration)
        defer { store.close() }
        let other = try Database(
            path: directory.path + "/towline.db",
            modeSource: directory.path + "/state.lock",
            busyLimitMilliseconds: 5_000
        )
        try other.run("BEGIN IMMEDIATE")
        store.submit(.start(StartCandidate(record: record("a"), isIDGiven: true)), ticket: 1)
        store.submit(.get(id: "a"), ticket: 2)
        var results: [StoreResult] = []
        while results.count < 2 { results += store.results.waitAndTakeAll() ?? [] }
        guard case .failed(let error) = try #require(results.first).outcome else { throw Unexpected(results) }
        #expect(error.isBusy)
        try other.run("ROLLBACK")
        store.submit(.start(StartCandidate(record: record("a"), isIDGiven: true)), ticket: 3)
        guard case .started(.created) = try #require(store.results.waitAndTakeAll()?.first).outcome else {
            throw Unexpected("start")
        }
    }

    @Test func `the first result wakes the caller`() throws {
        let woken = try Mailbox<Bool>()
        let directory = TemporaryDirectory()
        let store = try Store(StoreConfiguration(location: .directory(directory.path))) { woken.send(true) }
        defer { store.close() }
        store.submit(.counts, ticket: 42)
        #expect(woken.waitAndTakeAll() == [true])
        #expect(store.results.takeAll() == [StoreResult(ticket: 42, outcome: .counted(StoreCounts()))])
    }

    @Test func `closing does what was submitted`() throws {
        let directory = TemporaryDirectory()
        let store = try Store(StoreConfiguration(location: .directory(directory.path)))
        for index in 0..<500 {
            store.submit(.start(StartCandidate(record: record("id-\(index)"), isIDGiven: true)), ticket: UInt64(index))
        }
        store.close()
        #expect(store.results.takeAll().count == 500)
        let client = try Client(directory)
        guard case .counted(let counts) = try client.perform(.counts) else { throw Unexpected("counts") }
        #expect(counts.total == 500)
    }

    @Test func `many records go in and stay`() throws {
        let directory = TemporaryDirectory()
        let client = try Client(directory)
        let count = 20_000
        let started = monotonicNanoseconds()
        let outcomes = client.performAll(
            (0..<count).map { .start(StartCandidate(record: record("id-\($0)"), isIDGiven: true)) }
        )
        let inserted = monotonicNanoseconds()
        let records = outcomes.compactMap { outcome -> DownloadRecord? in
            if case .started(.created(let record)) = outcome { record } else { nil }
        }
        #expect(records.count == count)
        let saving = monotonicNanoseconds()
        let saves = client.performAll(records.map { .save($0) })
        let saved = monotonicNanoseconds()
        #expect(saves.allSatisfy { if case .saved = $0 { true } else { false } })
        let marks = client.performAll(
            records.map {
                .saveProgress(
                    ProgressSave(
                        id: $0.id,
                        attempt: 1,
                        durable: ByteRangeSet(0, 65_536),
                        transferredByteCount: 65_536,
                        wastedByteCount: 0
                    )
                )
            }
        )
        let marked = monotonicNanoseconds()
        #expect(marks.allSatisfy { $0 == .progressSaved })
        func rate(_ nanoseconds: Int64) -> Int { count * 1_000 / max(1, Int(nanoseconds / 1_000_000)) }
        print(
            "a second: \(rate(inserted - started)) inserts, \(rate(saved - saving)) saves, "
                + "\(rate(marked - saved)) progress saves")
        guard case .counted(let counts) = try client.perform(.counts) else { throw Unexpected("counts") }
        #expect(counts.byState == [.queued: count])
    }
}
