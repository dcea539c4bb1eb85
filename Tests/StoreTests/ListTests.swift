import Core
import Platform
import Store
import Testing

@Suite struct ListTests {
    private func filled(_ count: Int) throws -> (Client, [DownloadRecord]) {
        let client = try Client(TemporaryDirectory())
        return (client, try (0..<count).map { try client.create(record("id-\($0)")) })
    }

    private func finish(_ record: DownloadRecord, _ client: Client) throws {
        var record = record
        record.state = .failed
        _ = try client.save(record)
    }

    private func delete(_ id: String, _ client: Client) throws -> Int64 {
        let outcome = try client.perform(.delete(id: id))
        guard case .deleted(_, let revision) = outcome else { throw Unexpected(outcome) }
        return revision
    }

    @Test func `pages are in order of creation and stay so while rows change`() throws {
        let (client, records) = try filled(25)
        var query = ListQuery(limit: 10)
        var ids: [String] = []
        var revisions: Set<Int64> = []
        for turn in 0..<3 {
            let page = try client.page(query)
            ids += page.records.map(\.record.id)
            revisions.insert(page.revision)
            #expect((page.nextCursor == nil) == (turn == 2))
            query.cursor = page.nextCursor
            // Listed, not yet listed and new downloads change between the pages.
            _ = try client.save(records[turn])
            _ = try client.save(records[24 - turn])
            _ = try client.create(record("new-\(turn)"))
        }
        #expect(ids == records.map(\.id) + ["new-0", "new-1"])
        #expect(revisions.count == 1, "all pages name the revision to go on from")
    }

    @Test func `states are found by how they read, in order of creation`() throws {
        let (client, records) = try filled(30)
        let states = DownloadState.allCases
        for (index, record) in records.enumerated() {
            var record = record
            record.state = states[index % states.count]
            record.reason = record.state == .paused ? .user : nil
            _ = try client.save(record)
        }
        for wanted in [[.queued], [.paused], [.failed, .completed], [.active, .canceled, .waiting]]
            as [Set<DownloadState>]
        {
            let expected = records.indices.filter { wanted.contains(states[$0 % states.count]) }.map { records[$0].id }
            for limit in [1, 3, 100] {
                #expect(try client.all(ListQuery(states: wanted, limit: limit)) == expected)
            }
        }
        #expect(try client.page(ListQuery(states: [])).records.isEmpty)
    }

    @Test func `ids are found in order of creation, unknown ones left out`() throws {
        let (client, _) = try filled(5)
        let ids = ["id-4", "id-1", "nobody", "id-1", "id-3"]
        #expect(try client.all(ListQuery(ids: ids, limit: 2)) == ["id-1", "id-3", "id-4"])
        #expect(try client.all(ListQuery(states: [.failed], ids: ids)) == [])
        #expect(try client.all(ListQuery(states: [.queued], ids: ids, limit: 1)) == ["id-1", "id-3", "id-4"])
    }

    @Test func `changes come in order of change, removals with them`() throws {
        let (client, records) = try filled(10)
        let since = try client.page(ListQuery()).revision
        _ = try client.save(records[7])
        _ = try client.save(records[2])
        try finish(records[4], client)
        let removedAt = try delete("id-4", client)
        _ = try client.save(records[7])
        let page = try client.page(ListQuery(changedSince: since))
        #expect(page.records.map(\.record.id) == ["id-2", "id-7"])
        #expect(page.removed == [Tombstone(id: "id-4", revision: removedAt)])
        #expect(page.nextCursor == nil)
        let next = try client.page(ListQuery(changedSince: page.revision))
        #expect(next.records.isEmpty && next.removed.isEmpty)
        let failed = try client.page(ListQuery(states: [.failed], changedSince: since))
        #expect(failed.records.isEmpty)
        #expect(failed.removed == page.removed)
    }

    @Test(arguments: [1, 2, 3, 7])
    func `nothing is missed between pages of changes`(limit: Int) throws {
        let (client, records) = try filled(20)
        for index in stride(from: 0, to: 20, by: 4) {
            try finish(records[index], client)
            _ = try delete(records[index].id, client)
        }
        var query = ListQuery(changedSince: 0, limit: limit)
        var known: Set<String> = []
        var gone: Set<String> = []
        var turn = 0
        var first: Int64?
        repeat {
            let page = try client.page(query)
            #expect(page.records.count + page.removed.count <= limit)
            known.formUnion(page.records.map(\.record.id))
            gone.formUnion(page.removed.map(\.id))
            if turn == 0 {
                first = page.revision
                _ = try client.save(records[1])
                _ = try client.create(record("new"))
            }
            #expect(page.revision == first)
            turn += 1
            query.cursor = page.nextCursor
        } while query.cursor != nil
        let removed = Set(stride(from: 0, to: 20, by: 4).map { "id-\($0)" })
        #expect(gone == removed)
        #expect(known == Set(records.map(\.id)).subtracting(removed).union(["new"]))
    }

    @Test func `a page that is cut goes on where it was cut`() throws {
        let (client, records) = try filled(12)
        let since = try client.page(ListQuery()).revision
        for index in [5, 3] {
            try finish(records[index], client)
            _ = try delete(records[index].id, client)
        }
        for index in [9, 1, 11] { _ = try client.save(records[index]) }
        for query in [ListQuery(), ListQuery(changedSince: since), ListQuery(changedSince: since, limit: 4)] {
            let whole = try client.page(query)
            for count in 0..<whole.records.count {
                let cut = whole.prefix(count)
                #expect(cut.records.map(\.record.id) == whole.records.prefix(count).map(\.record.id))
                var rest = query
                rest.limit = 100
                let cursor: String = try #require(cut.nextCursor)
                rest.cursor = cursor
                let following = try client.page(rest)
                #expect(
                    following.records.prefix(whole.records.count - count).map(\.record.id)
                        == whole.records.dropFirst(count).map(\.record.id))
                let told = cut.removed + following.removed
                #expect(Set(told.map(\.id)).count == told.count)
                #expect(whole.removed.allSatisfy { told.contains($0) })
            }
            #expect(whole.prefix(whole.records.count) == whole)
        }
    }

    @Test func `a cursor of another query or of nobody is refused`() throws {
        let (client, _) = try filled(3)
        let cursor = try #require(try client.page(ListQuery(limit: 1)).nextCursor)
        let others = [
            ListQuery(states: [.queued], limit: 1, cursor: cursor), ListQuery(changedSince: 0, cursor: cursor),
            ListQuery(ids: ["a"], cursor: cursor),
        ]
        for query in others { #expect(try client.perform(.list(query)) == .cursorExpired, "\(query)") }
        let wrong = [
            ListQuery(cursor: ""), ListQuery(cursor: cursor + "x"), ListQuery(cursor: "1.2"),
            ListQuery(cursor: "-1" + cursor.dropFirst()),
            ListQuery(cursor: String(repeating: "1", count: 10_000)), ListQuery(cursor: "\u{0}.\u{0}.\u{0}"),
        ]
        for query in wrong { #expect(try client.perform(.list(query)) == .invalidCursor, "\(query)") }
        #expect(try client.page(ListQuery(limit: 2, cursor: cursor)).records.map(\.record.id) == ["id-1", "id-2"])
    }

    @Test func `removals too old to be known expire the revision`() throws {
        let client = try Client(TemporaryDirectory())
        let count = 10_050
        let records = (0..<count).map { index in
            var record = record("id-\(index)")
            record.state = .canceled
            return record
        }
        _ = client.performAll(records.map { .start(StartCandidate(record: $0, isIDGiven: true)) })
        let since = try client.page(ListQuery(limit: 1)).revision
        _ = client.performAll(records.prefix(10_000).map { .delete(id: $0.id) })
        #expect(try client.page(ListQuery(changedSince: since, limit: 500)).removed.count == 500)
        _ = client.performAll(records.dropFirst(10_000).map { .delete(id: $0.id) })
        #expect(try client.perform(.list(ListQuery(changedSince: since))) == .cursorExpired)
        #expect(try client.perform(.list(ListQuery(changedSince: since + 49))) == .cursorExpired)
        let page = try client.page(ListQuery(changedSince: since + 50, limit: 500))
        #expect(page.removed.first?.id == "id-50")
        #expect(try client.perform(.list(ListQuery(changedSince: since + 1_000_000))) == .cursorExpired)
    }

    @Test func `only final downloads are deleted, and a new one of the same id is no removal`() throws {
        let (client, records) = try filled(1)
        guard case .notFinal = try client.perform(.delete(id: "id-0")) else { throw Unexpected("delete") }
        try finish(records[0], client)
        _ = try delete("id-0", client)
        #expect(try client.perform(.delete(id: "id-0")) == .notFound)
        let again = try client.create(record("id-0"))
        #expect(again.sequence > records[0].sequence)
        let page = try client.page(ListQuery(changedSince: 0))
        #expect(page.removed.isEmpty)
        #expect(page.records.map(\.record.id) == ["id-0"])
    }

    @Test func `a limit out of range is brought into it`() {
        #expect(ListQuery(limit: 0).limit == 1)
        #expect(ListQuery(limit: .max).limit == ListQuery.maxLimit)
    }
}
