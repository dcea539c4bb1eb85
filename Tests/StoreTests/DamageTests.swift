import Core
import Foundation
import Platform
import Store
import Testing

/// Damage is detected, costs as little as possible, and is reported.
@Suite struct DamageTests {
    private func run(_ sql: String, in directory: TemporaryDirectory) throws {
        let database = try Database(
            path: directory.path + "/towline.db",
            modeSource: directory.path + "/state.lock",
            busyLimitMilliseconds: 1000
        )
        try database.run(sql)
    }

    /// A state left by a process, with two downloads that have received bytes.
    private func makeState(_ directory: TemporaryDirectory, ids: [String] = ["a", "b"]) throws {
        let client = try Client(directory)
        for id in ids {
            var record = try client.create(record(id))
            record.state = .active
            record.entity = Entity(totalByteCount: 200_000, etag: "\"v1\"")
            record.partial = FileIdentity(device: 7, inode: 11)
            record.durable = ByteRangeSet(0, 100_000)
            _ = try client.save(record)
        }
    }

    private func damage(_ client: Client) throws -> (path: String, rescuedCount: Int) {
        guard case .damagedDatabaseSetAside(let path, _, let count) = try #require(client.store.diagnostics.first)
        else {
            throw Unexpected(client.store.diagnostics)
        }
        return (path, count)
    }

    @Test(arguments: [
        "durable='0-140000'", "entityETag='\"v2\"'", "entityByteCount=100000", "attempt=2", "partialInode=12",
        "durable=x'302d313030303030'", "isFinalizing=1", "keptPaths='[\"/f\"]'", "progressCheck=progressCheck+1",
    ])
    func `a change in what is held costs the bytes alone`(change: String) throws {
        let directory = TemporaryDirectory()
        try makeState(directory)
        try run("UPDATE download SET \(change) WHERE id='a'", in: directory)
        let client = try Client(directory)
        #expect(try damage(client).rescuedCount == 2)
        let a = try client.get("a")
        #expect((a.record.url, a.record.path) == ("https://example.org/file", "/downloads/a"))
        #expect((a.record.state, a.record.reason, a.ownership) == (.paused, .interrupted, .none))
        #expect(a.record.durable.isEmpty && a.record.entity == nil && a.record.partial == nil)
        #expect(a.record.failure?.kind == .storage && a.record.keptPaths.isEmpty)
        let b = try client.get("b").record
        #expect(b.durable == ByteRangeSet(0, 100_000))
        #expect(b.entity?.etag == "\"v1\"")
    }

    @Test(arguments: ["url='https://example.org/fire'", "path='/downloads/c'", "checksum='md5:00'", "requestCheck=1"])
    func `a change in what was asked for costs that download`(change: String) throws {
        let directory = TemporaryDirectory()
        try makeState(directory)
        try run("UPDATE download SET \(change) WHERE id='a'", in: directory)
        let client = try Client(directory)
        #expect(try damage(client).rescuedCount == 1)
        #expect(try client.perform(.get(id: "a")) == .notFound)
        #expect(try client.get("b").record.durable == ByteRangeSet(0, 100_000))
        // It can be started again.
        _ = try client.create(record("a"))
    }

    @Test(arguments: ["DROP INDEX downloadRequest", "UPDATE meta SET value=1 WHERE key='revision'", "DELETE FROM meta"])
    func `a damaged frame costs no download`(change: String) throws {
        let directory = TemporaryDirectory()
        try makeState(directory)
        try run(change, in: directory)
        let client = try Client(directory)
        #expect(try damage(client).rescuedCount == 2)
        #expect(try client.get("b").record.durable == ByteRangeSet(0, 100_000))
        let revision = try client.create(record("c")).revision
        #expect(revision > 4)
    }

    @Test func `revisions go on after damage, and what a client remembers is too old`() throws {
        let directory = TemporaryDirectory()
        try makeState(directory)
        let before = try { try Client(directory).page(ListQuery(limit: 10)).revision }()
        try run("UPDATE download SET durable='' WHERE id='a'", in: directory)
        let client = try Client(directory)
        #expect(try client.perform(.list(ListQuery(changedSince: before, limit: 10))) == .cursorExpired)
        #expect(try client.page(ListQuery(limit: 10)).revision > before)
    }

    @Test func `a database that has lost its last changes counts on no byte`() throws {
        let directory = TemporaryDirectory()
        try makeState(directory)
        let old = directory.bytes("towline.db")
        do {
            let client = try Client(directory)
            _ = try client.create(record("c"))
        }
        try directory.write("towline.db", old)
        let client = try Client(directory)
        guard case .changesLost(_, let revision, let last) = try #require(client.store.diagnostics.first) else {
            throw Unexpected(client.store.diagnostics)
        }
        #expect(revision < last)
        for id in ["a", "b"] {
            let loaded = try client.get(id)
            #expect((loaded.record.state, loaded.ownership) == (.paused, .none))
            #expect(loaded.record.durable.isEmpty && loaded.record.entity == nil)
        }
        #expect(try client.create(record("d")).revision > last)
    }

    @Test(arguments: ["removed", "emptied"])
    func `a database that is gone is missed`(how: String) throws {
        let directory = TemporaryDirectory()
        try makeState(directory)
        if how == "emptied" {
            try directory.write("towline.db", [])
        } else {
            try FileManager.default.removeItem(atPath: directory.path + "/towline.db")
        }
        do {
            let client = try Client(directory)
            guard case .changesLost(_, 0, _) = try #require(client.store.diagnostics.first) else {
                throw Unexpected(client.store.diagnostics)
            }
            #expect(try client.perform(.get(id: "a")) == .notFound)
        }
        #expect(try Client(directory).store.diagnostics.isEmpty, "said once")
    }

    @Test func `a rescue that was killed between its renames is brought to its end`() throws {
        let directory = TemporaryDirectory()
        try makeState(directory)
        let path = directory.path + "/towline.db"
        try FileManager.default.moveItem(atPath: path, toPath: path + ".rescue")
        let client = try Client(directory)
        #expect(client.store.diagnostics.isEmpty)
        #expect(try client.get("a").record.durable == ByteRangeSet(0, 100_000))
    }

    @Test func `what a rescue had begun is forgotten`() throws {
        let directory = TemporaryDirectory()
        try makeState(directory)
        try directory.write("towline.db.rescue", [1, 2, 3])
        let client = try Client(directory)
        #expect(try client.get("a").record.durable == ByteRangeSet(0, 100_000))
        #expect(!directory.names().contains("towline.db.rescue"))
    }

    @Test(arguments: ["towline.db", "towline.db-wal", "state.lock", "sessions"], ["link", "directory", "fifo"])
    func `what stands in our place is moved, never followed`(name: String, kind: String) throws {
        if name == "sessions" && kind == "directory" { return }
        let directory = TemporaryDirectory()
        try makeState(directory)
        let outside = TemporaryDirectory()
        try outside.write("theirs", [])
        let path = directory.path + "/" + name
        try? FileManager.default.removeItem(atPath: path)
        switch kind {
        case "link":
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: outside.path + "/theirs")
        case "directory": try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        default: #expect(mkfifo(path, 0o600) == 0)
        }
        let client = try Client(directory)
        #expect(client.store.diagnostics.contains { if case .strangerSetAside = $0 { true } else { false } })
        #expect(directory.names().contains { $0.hasPrefix(name + ".damaged-") })
        #expect(outside.names() == ["theirs"])
        #expect(outside.bytes("theirs").isEmpty)
        _ = try client.create(record("c"))
        // Only the loss of the database itself costs downloads.
        #expect(try (client.perform(.get(id: "a")) == .notFound) == (name == "towline.db"))
    }

    @Test(arguments: ["link", "directory", "fifo"])
    func `a session that is no file is dead`(kind: String) throws {
        let directory = TemporaryDirectory()
        try makeState(directory)
        let sessions = directory.path + "/sessions"
        let name = try #require(FileManager.default.contentsOfDirectory(atPath: sessions).first)
        let path = sessions + "/" + name
        try FileManager.default.removeItem(atPath: path)
        switch kind {
        case "link": try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/dev/null")
        case "directory": try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        default: #expect(mkfifo(path, 0o600) == 0)
        }
        let client = try Client(directory)
        #expect(client.store.diagnostics.count == 1)
        guard case .loaded(let taken) = try client.perform(.adopt(id: "a")) else { throw Unexpected("not taken over") }
        #expect(taken.ownership == .own)
        #expect(taken.record.durable == ByteRangeSet(0, 100_000))
    }

    @Test func `records of a schema without checks are taken for what they say`() throws {
        let directory = TemporaryDirectory()
        try makeState(directory)
        let columns = ["requestCheck", "progressCheck", "errorHolder"].map { "ALTER TABLE download DROP COLUMN \($0);" }
            .joined()
        try run(columns + "PRAGMA user_version=2", in: directory)
        do {
            let client = try Client(directory)
            #expect(client.store.diagnostics.isEmpty)
            #expect(try client.get("a").record.durable == ByteRangeSet(0, 100_000))
        }
        try run("UPDATE download SET durable='0-140000' WHERE id='a'", in: directory)
        #expect(try damage(Client(directory)).rescuedCount == 2)
    }

    @Test(arguments: [Int64.max, .min, 1 << 60])
    func `a revision that was damaged while the process lives is refused, and mended by the next`(
        revision: Int64
    ) throws {
        let directory = TemporaryDirectory()
        try makeState(directory)
        do {
            let client = try Client(directory)
            try run("UPDATE meta SET value=\(revision) WHERE key='revision'", in: directory)
            guard
                case .failed(let error) = try client.perform(
                    .start(StartCandidate(record: record("c"), isIDGiven: true)))
            else {
                throw Unexpected("no failure")
            }
            #expect(error.isCorrupt)
        }
        let client = try Client(directory)
        #expect(try damage(client).rescuedCount == 2)
        _ = try client.create(record("c"))
    }

    @Test func `a schema version that was never one is damage`() throws {
        let directory = TemporaryDirectory()
        try makeState(directory)
        try run("PRAGMA user_version=0", in: directory)
        let client = try Client(directory)
        #expect(try damage(client).rescuedCount == 2)
        #expect(try client.get("a").record.durable == ByteRangeSet(0, 100_000))
    }

    @Test func `damage that a second process meets costs nothing but the bytes`() throws {
        let directory = TemporaryDirectory()
        try makeState(directory)
        let first = try Client(directory)
        try run("UPDATE download SET durable='0-140000' WHERE id='a'", in: directory)
        let a = try first.get("a").record
        #expect(a.durable.isEmpty && a.failure?.kind == .storage)
        #expect(directory.names().contains("check.requested"))
        guard case .loaded(let taken) = try first.perform(.adopt(id: "a")) else { throw Unexpected("not taken over") }
        #expect(taken.record.durable.isEmpty)
        // What its owner writes is valid again.
        _ = try first.save(taken.record)
        #expect(try first.get("a").record.failure?.kind == .storage)
    }
}
