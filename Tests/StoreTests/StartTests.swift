import Core
import Platform
import Store
import Testing

@Suite struct StartTests {
    @Test func `the same start twice finds the first`() throws {
        let client = try Client(TemporaryDirectory())
        let created = try client.create(record("a"))
        #expect(created.owner == client.store.session.number)
        #expect(try client.start(record("a")) == .existing(LoadedRecord(record: created, ownership: .own)))
    }

    @Test func `an id that means another download tells in what it differs`() throws {
        let client = try Client(TemporaryDirectory())
        let created = LoadedRecord(record: try client.create(record("a")), ownership: .own)
        var other = record("a", url: "https://example.org/other")
        #expect(try client.start(other) == .idConflict(created, differs: [.url]))
        other = record("a", path: "/elsewhere")
        #expect(try client.start(other) == .idConflict(created, differs: [.destination]))
        other = record("a")
        other.checksum = Checksum(algorithm: .md5, value: "00")
        other.ifExists = .skip
        #expect(try client.start(other) == .idConflict(created, differs: [.checksum, .ifExists]))
    }

    @Test func `without an id the same url and destination is the same download`() throws {
        let client = try Client(TemporaryDirectory())
        let created = LoadedRecord(record: try client.create(record("a", path: "/d/x")), ownership: .own)
        #expect(try client.start(record("b", path: "/d/x"), isIDGiven: false) == .existing(created))
        var wanting = record("c", path: "/d/x")
        wanting.checksum = Checksum(algorithm: .md5, value: "00")
        #expect(try client.start(wanting, isIDGiven: false) == .idConflict(created, differs: [.checksum]))
        let elsewhere = record("d", path: "/d/y")
        guard case .created = try client.start(elsewhere, isIDGiven: false) else {
            Issue.record("the same URL may go to two places")
            return
        }
    }

    @Test func `without an id a download into the same directory is found before it is named`() throws {
        let client = try Client(TemporaryDirectory())
        var first = DownloadRecord(id: "a", url: "https://example.org/f", createdAtMilliseconds: 0)
        first.requestedDirectory = "/d"
        let created = LoadedRecord(record: try client.create(first), ownership: .own)
        var second = DownloadRecord(id: "b", url: "https://example.org/f", createdAtMilliseconds: 1)
        second.requestedDirectory = "/d"
        #expect(try client.start(second, isIDGiven: false) == .existing(created))
        #expect(try client.perform(.claimDestination(id: "a", path: "/d/f")) != .notFound)
        // Named meanwhile, and requested with that name.
        let named = LoadedRecord(record: try client.get("a").record, ownership: .own)
        let third = record("c", url: "https://example.org/f", path: "/d/f")
        #expect(try client.start(third, isIDGiven: false) == .existing(named))
    }

    @Test func `a destination that another download holds is refused until that one is final`() throws {
        let client = try Client(TemporaryDirectory())
        var holder = try client.create(record("a", path: "/d/x"))
        let other = record("b", url: "https://example.org/other", path: "/d/x")
        #expect(try client.start(other) == .destinationConflict(id: "a"))
        #expect(try client.start(other, isIDGiven: false) == .destinationConflict(id: "a"))
        holder.state = .completed
        _ = try client.save(holder)
        let created = try client.create(other)
        #expect(created.path == "/d/x")
        // The first cannot be resumed while the second exists.
        guard case .loaded(let adopted) = try client.perform(.adopt(id: "a")) else { throw Unexpected("adopt") }
        var revived = adopted.record
        revived.state = .queued
        #expect(try client.perform(.save(revived)) == .destinationConflict(id: "b"))
        #expect(try client.get("a").record.state == .completed)
    }

    @Test func `two downloads cannot claim one name`() throws {
        let client = try Client(TemporaryDirectory())
        for id in ["a", "b"] {
            var unnamed = DownloadRecord(id: id, url: "https://example.org/\(id)", createdAtMilliseconds: 0)
            unnamed.requestedDirectory = "/d"
            _ = try client.create(unnamed)
        }
        guard case .saved = try client.perform(.claimDestination(id: "a", path: "/d/x")) else {
            throw Unexpected("claim")
        }
        #expect(try client.perform(.claimDestination(id: "b", path: "/d/x")) == .destinationConflict(id: "a"))
        guard case .saved = try client.perform(.claimDestination(id: "a", path: "/d/x")) else {
            throw Unexpected("claiming again is fine")
        }
        #expect(try client.perform(.claimDestination(id: "c", path: "/d/z")) == .notFound)
        #expect(try client.get("b").record.path == nil)
    }

    @Test func `a final download is found by its id but not without`() throws {
        let client = try Client(TemporaryDirectory())
        var done = try client.create(record("a", path: "/d/x"))
        done.state = .completed
        _ = try client.save(done)
        guard case .existing(let loaded) = try client.start(record("a", path: "/d/x")) else {
            throw Unexpected("start")
        }
        #expect(loaded.ownership == .none)
        #expect(loaded.record.owner == nil)
        guard case .created = try client.start(record("b", path: "/d/x"), isIDGiven: false) else {
            throw Unexpected("start")
        }
    }

    @Test func `what a living process works on is told but not touched`() throws {
        let directory = TemporaryDirectory()
        let first = try Client(directory)
        let second = try Client(directory)
        let created = try first.create(record("a"))
        let seen = LoadedRecord(record: created, ownership: .other)
        #expect(try second.start(record("a")) == .ownedElsewhere(seen))
        #expect(try second.perform(.adopt(id: "a")) == .ownedElsewhere(seen))
        #expect(try second.perform(.save(created)) == .ownedElsewhere(seen))
        #expect(try second.perform(.release(id: "a")) == .ownedElsewhere(seen))
        #expect(try second.perform(.delete(id: "a")) == .ownedElsewhere(seen))
        #expect(try second.perform(.claimDestination(id: "a", path: "/z")) == .ownedElsewhere(seen))
        let any = AdoptionFilter(states: Set(DownloadState.allCases))
        #expect(try second.perform(.adoptAll(any)) == .adopted([], isComplete: true))
        #expect(try first.get("a").record == created)
    }

    @Test func `of equal starts in several processes one creates`() async throws {
        let directory = TemporaryDirectory()
        let clients = try (0..<3).map { _ in try Client(directory) }
        let ids = (0..<40).map { "id-\($0)" }
        let outcomes = try await withThrowingTaskGroup(of: [StoreOutcome].self) { group in
            for client in clients {
                group.addTask {
                    client.performAll(ids.map { .start(StartCandidate(record: record($0), isIDGiven: true)) })
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        for index in ids.indices {
            let kinds = outcomes.map { list -> String in
                switch list[index] {
                case .started(.created): "created"
                case .started(.ownedElsewhere): "elsewhere"
                default: "\(list[index])"
                }
            }
            #expect(kinds.sorted() == ["created", "elsewhere", "elsewhere"])
        }
    }
}
