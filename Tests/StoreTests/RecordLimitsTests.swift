@testable import Store
import Core
import Platform
import Testing

/// The limits of stored records; values beyond them are corrected when they are read.
@Suite struct RecordLimitsTests {
    private func stored(_ change: (inout DownloadRecord) throws -> Void) throws -> DownloadRecord {
        var record = DownloadRecord(id: "d", url: "http://h/x", createdAtMilliseconds: 5)
        record.requestedPath = "/d/x"
        record.path = "/d/x"
        record.state = .paused
        record.reason = .user
        record.partial = FileIdentity(device: 1, inode: 2)
        record.entity = Entity(totalByteCount: 1_000, etag: "\"v\"")
        record.durable = ByteRangeSet(0, 500)
        try change(&record)
        let client = try Client(TemporaryDirectory())
        guard case .started(.created) = try client.perform(.start(StartCandidate(record: record, isIDGiven: true))),
            case .loaded(let loaded) = try client.perform(.get(id: "d"))
        else { throw StoreError.damaged("it was not stored") }
        return loaded.record
    }

    @Test(arguments: [Int64.max, .min, 1 << 53, -1])
    func `numbers are held at their limits`(number: Int64) throws {
        let counts = 0...Limits.fileByteCount
        let record = try stored { record in
            record.priority = number
            record.attempt = number
            record.failureCount = number
            record.transferredByteCount = number
            record.wastedByteCount = number
            record.createdAtMilliseconds = number
            record.updatedAtMilliseconds = number
            record.retryAtMilliseconds = number
            record.transfer = TransferOrigin(mode: .fresh, offset: number)
            record.finished = FinishedFile(identity: FileIdentity(device: 1, inode: 1), byteCount: number)
        }
        #expect(Limits.priority.contains(record.priority))
        #expect(counts.contains(record.attempt) && record.attempt >= 1)
        for value in [
            record.failureCount, record.transferredByteCount, record.wastedByteCount, record.createdAtMilliseconds,
            record.updatedAtMilliseconds, record.retryAtMilliseconds ?? 0, record.transfer?.offset ?? 0,
        ] { #expect(counts.contains(value)) }
        #expect(record.finished == nil)
        #expect(record.durable == ByteRangeSet(0, 500), "and nothing else is lost")
    }

    @Test(arguments: [ByteRangeSet(0, .max), ByteRangeSet(0, 1_001), ByteRangeSet(.max - 1, .max)])
    func `ranges that no file of that length has count for nothing`(ranges: ByteRangeSet) throws {
        let durable = try stored { $0.durable = ranges }
        #expect(durable.durable.isEmpty && durable.written == nil)
        let written = try stored { record in
            record.written = ProgressRecord(
                downloadID: "d", attempt: 1, partial: FileIdentity(device: 1, inode: 2), bootID: "b", mountID: 1,
                written: ranges)
        }
        #expect(written.written?.written.ranges.last.map { $0.upperBound <= 1_000 } ?? true)
        let unknown = try stored { $0.entity?.totalByteCount = -1 }
        #expect(unknown.entity == nil && unknown.durable.isEmpty)
    }

    @Test func `texts that no server sends are left out`() throws {
        let long = String(repeating: "x", count: 200_000)
        let record = try stored { record in
            record.entity?.etag = "a\r\nb"
            record.entity?.lastModified = long
            record.contentType = long
            record.finalURL = long
            record.metadataText = long
            record.failure = DownloadFailure(.io, long, isRetryable: false)
            record.keptPaths = [long] + (0..<50).map { "/k\($0)" }
        }
        #expect(record.entity?.etag == nil && record.entity?.lastModified == nil && record.contentType == nil)
        #expect(record.finalURL == nil && record.metadataText == nil)
        #expect(record.keptPaths.count <= Limits.keptPartialCount)
        #expect((record.failure?.message.utf8.count ?? 0) <= Limits.pathByteCount)
        #expect(record.state == .paused)
    }

    @Test(arguments: ["url", "headers", "options"])
    func `a request that breaks a limit fails alone`(text: String) throws {
        let long = String(repeating: "x", count: 30_000)
        let record = try stored { record in
            switch text {
            case "url": record.url = long
            case "headers": record.headersText = long
            default: record.optionsText = long
            }
        }
        #expect(record.state == .failed && record.url.isEmpty && record.path == nil)
        #expect(record.failure?.kind == .storage)
    }
}
