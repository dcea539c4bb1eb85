import Core
import Foundation
import Platform
import Store
import Testing

/// A directory that is deleted with its owner.
final class TemporaryDirectory: Sendable {
    let path: String

    init() {
        path = FileManager.default.temporaryDirectory.path + "/towline-store-" + UUID().uuidString
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func bytes(_ name: String) -> [UInt8] {
        [UInt8](FileManager.default.contents(atPath: path + "/" + name) ?? Data())
    }

    func names() -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
    }

    func write(_ name: String, _ bytes: [UInt8]) throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try Data(bytes).write(to: URL(fileURLWithPath: path + "/" + name))
    }

    func permissions(_ name: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path + "/" + name)
        return try #require(attributes[.posixPermissions] as? Int)
    }
}

/// One process, as seen by the store: a store with results that can be waited for.
final class Client: Sendable {
    let store: Store
    private let directory: TemporaryDirectory
    private let lastTicket = Guarded<UInt64>(0)

    init(_ directory: TemporaryDirectory, scope: PathScope = .anywhere) throws {
        self.directory = directory
        var configuration = StoreConfiguration(location: .directory(directory.path))
        configuration.scope = scope
        configuration.busyLimitMilliseconds = 5_000
        store = try Store(configuration)
    }

    deinit { store.close() }

    func performAll(_ operations: [StoreOperation]) -> [StoreOutcome] {
        let first = lastTicket.withLock { ticket in
            let first = ticket + 1
            ticket += UInt64(operations.count)
            return first
        }
        for (index, operation) in operations.enumerated() { store.submit(operation, ticket: first + UInt64(index)) }
        var outcomes: [StoreOutcome] = []
        while outcomes.count < operations.count {
            for result in store.results.waitAndTakeAll() ?? [] {
                #expect(result.ticket == first + UInt64(outcomes.count), "results come in the order of submission")
                outcomes.append(result.outcome)
            }
        }
        return outcomes
    }

    func perform(_ operation: StoreOperation) throws -> StoreOutcome {
        try #require(performAll([operation]).first)
    }

    func start(_ record: DownloadRecord, isIDGiven: Bool = true) throws -> StartOutcome {
        let outcome = try perform(.start(StartCandidate(record: record, isIDGiven: isIDGiven)))
        guard case .started(let started) = outcome else { throw Unexpected(outcome) }
        return started
    }

    func create(_ record: DownloadRecord) throws -> DownloadRecord {
        let outcome = try start(record)
        guard case .created(let created) = outcome else { throw Unexpected(outcome) }
        return created
    }

    func get(_ id: String) throws -> LoadedRecord {
        let outcome = try perform(.get(id: id))
        guard case .loaded(let loaded) = outcome else { throw Unexpected(outcome) }
        return loaded
    }

    func save(_ record: DownloadRecord) throws -> Int64 {
        let outcome = try perform(.save(record))
        guard case .saved(let revision) = outcome else { throw Unexpected(outcome) }
        return revision
    }

    func page(_ query: ListQuery) throws -> ListPage {
        let outcome = try perform(.list(query))
        guard case .page(let page) = outcome else { throw Unexpected(outcome) }
        return page
    }

    /// All pages of a query.
    func all(_ query: ListQuery) throws -> [String] {
        var query = query
        var ids: [String] = []
        repeat {
            let page = try page(query)
            ids += page.records.map(\.record.id)
            query.cursor = page.nextCursor
        } while query.cursor != nil
        return ids
    }
}

struct Unexpected: Error {
    let what: String
    init(_ what: some Any) { self.what = "\(what)" }
}

func record(_ id: String, url: String = "https://example.org/file", path: String? = nil) -> DownloadRecord {
    var record = DownloadRecord(id: id, url: url, createdAtMilliseconds: 1_700_000_000_000)
    record.requestedPath = path ?? "/downloads/\(id)"
    record.path = record.requestedPath
    return record
}

func progress(_ id: String, attempt: Int64 = 1, _ ranges: ByteRangeSet) throws -> ProgressRecord {
    try #require(
        ProgressRecord(
            downloadID: id,
            attempt: attempt,
            partial: FileIdentity(device: 7, inode: 11),
            bootID: "0e5bbd6c-0b0c-4f0a-9a37-9b5f6f7f0a11",
            mountID: 29,
            written: ranges
        )
    )
}

/// The same numbers in every run.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64
    init(seed: UInt64) { state = seed }

    // SplitMix64
    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }
}
