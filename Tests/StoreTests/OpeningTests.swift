import Core
import Foundation
import Platform
import Store
import Testing

@Suite struct OpeningTests {
    private func run(_ sql: String, in directory: TemporaryDirectory) throws {
        let database = try Database(
            path: directory.path + "/towline.db",
            modeSource: directory.path + "/state.lock",
            busyLimitMilliseconds: 1000
        )
        try database.run(sql)
    }

    @Test func `records survive closing and opening`() throws {
        let directory = TemporaryDirectory()
        do {
            let client = try Client(directory)
            _ = try client.create(record("a"))
        }
        let client = try Client(directory)
        #expect(client.store.diagnostics.isEmpty)
        #expect(try client.get("a").record.id == "a")
    }

    @Test func `a database of the first version is brought up to this one`() throws {
        let directory = TemporaryDirectory()
        do {
            let client = try Client(directory)
            _ = try client.create(record("a"))
        }
        let added = ["requestCheck", "progressCheck", "transferIdentity", "lengthVerified", "keptPaths", "errorHolder"]
        let downgrade = added.map { "ALTER TABLE download DROP COLUMN \($0);" }.joined()
        try run(downgrade + "DROP INDEX downloadFinished; PRAGMA user_version=1", in: directory)
        let client = try Client(directory)
        #expect(try client.get("a").record.keptPaths.isEmpty)
        var new = record("b")
        new.keptPaths = ["/f.towline"]
        new.failure = DownloadFailure(.destinationConflict, "taken", isRetryable: false, holderID: "a")
        _ = try client.create(new)
        #expect(try client.get("b").record.keptPaths == new.keptPaths)
        #expect(try client.get("b").record.failure == new.failure)
        #expect(client.store.diagnostics.isEmpty)
    }

    @Test func `a schema from the future is left alone`() throws {
        let directory = TemporaryDirectory()
        do { _ = try Client(directory) }
        try run("PRAGMA user_version=\(Schema.version + 7); CREATE TABLE later(a)", in: directory)
        let before = directory.bytes("towline.db")
        let error = #expect(throws: StateDirectoryError.self) { try Client(directory) }
        #expect(error?.kind == .futureSchema)
        #expect(error?.message.contains(" \(Schema.version + 7),") == true)
        #expect(error?.message.contains(" \(Schema.version);") == true)
        #expect(directory.bytes("towline.db") == before)
        #expect(!directory.names().contains { $0.contains("damaged") })
    }

    @Test func `another program's database is left alone`() throws {
        let directory = TemporaryDirectory()
        try directory.write("state.lock", [])
        try run("CREATE TABLE theirs(a); INSERT INTO theirs VALUES(1)", in: directory)
        let before = directory.bytes("towline.db")
        let error = #expect(throws: StateDirectoryError.self) { try Client(directory) }
        #expect(error?.kind == .foreignDatabase)
        #expect(directory.bytes("towline.db") == before)
    }

    @Test(arguments: [0, 4, 100, 5_000])
    func `what is no database is set aside`(zeroCount: Int) throws {
        let directory = TemporaryDirectory()
        let junk = [UInt8]("This is no database at all, whatever it is called.".utf8)
        try directory.write("towline.db", junk + [UInt8](repeating: 0, count: zeroCount + 512))
        let client = try Client(directory)
        guard case .damagedDatabaseSetAside(let path, _, _) = try #require(client.store.diagnostics.first) else {
            throw Unexpected(client.store.diagnostics)
        }
        #expect(path.hasPrefix(directory.path + "/towline.db.damaged-"))
        let name = try #require(directory.names().first { $0.hasPrefix("towline.db.damaged-") })
        #expect(directory.bytes(name).starts(with: junk))
        _ = try client.create(record("a"))
    }

    @Test func `a damaged database in use is not set aside`() throws {
        let directory = TemporaryDirectory()
        try directory.write("towline.db", [UInt8](repeating: 0x41, count: 8192))
        let other = try StateDirectory(path: directory.path)
        try other.share()
        let error = #expect(throws: StateDirectoryError.self) { try Client(directory) }
        #expect(error?.kind == .damaged)
        #expect(directory.bytes("towline.db") == [UInt8](repeating: 0x41, count: 8192))
    }

    @Test func `a damaged page met while working is found at the next start`() throws {
        let directory = TemporaryDirectory()
        do {
            let client = try Client(directory)
            // Too large for a complete check at every start.
            let trail = String(repeating: "x", count: 30_000)
            let candidates = (0..<300).map { number in
                var record = record("id-\(number)")
                record.trailText = trail
                return StartCandidate(record: record, isIDGiven: true)
            }
            _ = client.performAll(candidates.map { .start($0) })
        }
        var bytes = directory.bytes("towline.db")
        // Pages that opening does not read.
        for index in (bytes.count / 2)..<(bytes.count / 2 + 200_000) { bytes[index] = 0xa5 }
        try directory.write("towline.db", bytes)
        do {
            let client = try Client(directory)
            let outcomes = client.performAll((0..<300).map { .get(id: "id-\($0)") })
            let failures = outcomes.compactMap { outcome -> StoreError? in
                if case .failed(let error) = outcome { error } else { nil }
            }
            #expect(failures.contains { $0.isCorrupt })
        }
        #expect(directory.names().contains("check.requested"))
        let client = try Client(directory)
        #expect(client.store.diagnostics.count == 1)
        #expect(!directory.names().contains("check.requested"))
        let rescued = try client.all(ListQuery(limit: 100))
        #expect(rescued.count > 100 && rescued.count < 300)
    }

    @Test func `stores that open at the same time all succeed`() async throws {
        let directory = TemporaryDirectory()
        let opened = try await withThrowingTaskGroup(of: Client.self) { group in
            for _ in 0..<4 { group.addTask { try Client(directory) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(Set(opened.map { $0.store.session.number }).count == 4)
        for (index, client) in opened.enumerated() { _ = try client.create(record("id-\(index)")) }
    }

    @Test func `files of dead sessions that no record needs are removed`() throws {
        let directory = TemporaryDirectory()
        do {
            let client = try Client(directory)
            _ = try client.create(record("a"))
        }
        let needed = try FileManager.default.contentsOfDirectory(atPath: directory.path + "/sessions")
        #expect(needed.count == 1)
        try directory.write("sessions/12345", [])
        let client = try Client(directory)
        _ = try client.get("a")
        let now = try FileManager.default.contentsOfDirectory(atPath: directory.path + "/sessions")
        #expect(Set(now) == Set(needed + ["\(client.store.session.number)"]))
        #expect(Sessions(directory: directory.path + "/sessions").isAlive(client.store.session.number))
        #expect(!Sessions(directory: directory.path + "/sessions").isAlive(12345))
    }
}
