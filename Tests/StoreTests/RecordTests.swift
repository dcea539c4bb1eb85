import Core
import Platform
import Store
import Testing

@Suite struct RecordTests {
    private func full(_ id: String) throws -> DownloadRecord {
        var record = record(id)
        record.requestedDirectory = "/downloads"
        record.requestedFileName = "name"
        record.partialPath = "/downloads/name.towline"
        record.partial = FileIdentity(device: .max, inode: 1)
        record.ifExists = .rename
        record.checksum = Checksum(algorithm: .sha512, value: String(repeating: "ab", count: 64))
        record.optionsText = "{\"a\":\u{0}1}"
        record.headersText = "X: ä\u{1F600}"
        record.metadataText = ""
        record.trailText = "[]"
        record.priority = -5
        record.state = .waiting
        record.reason = .rateLimited
        record.intent = .run
        record.entity = Entity(
            totalByteCount: Limits.fileByteCount,
            etag: "\"x\"",
            lastModified: "Sun, 06 Nov 1994 08:49:37 GMT",
            date: "Sun, 06 Nov 1994 08:50:37 GMT",
            contentType: "text/plain",
            contentEncoding: "gzip",
            isLastModifiedStrong: true,
            isHTTP11: false,
            refusesRanges: true
        )
        record.durable = ByteRangeSet([ByteRange(0, 100), ByteRange(200, Limits.fileByteCount)].compactMap { $0 })
        record.attempt = 3
        record.written = try progress(id, attempt: 3, ByteRangeSet(0, 150))
        record.slotIndex = 4
        record.failureCount = 2
        record.transfer = TransferOrigin(mode: .restarted, offset: 17, why: .validatorChanged, identity: .probed)
        record.isLengthVerified = false
        record.keptPaths = ["/a\nb.towline", "/ü\".towline"]
        record.retryAtMilliseconds = 1_800_000_000_000
        record.failure = DownloadFailure(
            .diskFull,
            "No space",
            isRetryable: true,
            httpStatus: 503,
            curlCode: 23,
            errno: 28
        )
        record.updatedAtMilliseconds = 1_700_000_000_001
        record.completedAtMilliseconds = 1_700_000_000_002
        record.finalURL = "https://cdn.example.org/file"
        record.suggestedFileName = "name"
        record.contentType = "text/plain"
        record.transferredByteCount = 99
        record.wastedByteCount = 98
        record.isFinalizing = true
        record.finished = FinishedFile(identity: FileIdentity(device: 1, inode: .max), byteCount: 77)
        return record
    }

    @Test func `every member comes back as it was saved`() throws {
        let client = try Client(TemporaryDirectory())
        let created = try client.create(record("a"))
        #expect(try client.get("a") == LoadedRecord(record: created, ownership: .own))
        var expected = try full("a")
        expected.owner = client.store.session.number
        expected.revision = try client.save(expected)
        expected.sequence = created.sequence
        #expect(expected.revision > created.revision)
        #expect(try client.get("a") == LoadedRecord(record: expected, ownership: .own))
    }

    @Test func `every member comes back as it was inserted`() throws {
        let client = try Client(TemporaryDirectory())
        var expected = try full("a")
        let created = try client.create(expected)
        expected.owner = client.store.session.number
        expected.sequence = created.sequence
        expected.revision = created.revision
        #expect(created == expected)
        #expect(try client.get("a") == LoadedRecord(record: expected, ownership: .own))
    }

    @Test(arguments: ["", "x", "1-", "5-5", "9-2", "0-1,", "0-1;2-3", "-1-5", "0-99999999999999999999", "0-1,x"])
    func `a malformed ranges text loses bytes but never invents them`(text: String) {
        let read = ranges(fromText: text)
        #expect(read.byteCount <= 1)
    }

    @Test func `ranges survive as text`() {
        let set = ByteRangeSet([ByteRange(0, 5), ByteRange(7, 9), ByteRange(.max - 1, .max)].compactMap { $0 })
        #expect(ranges(fromText: rangesText(set)) == set)
        #expect(rangesText(ByteRangeSet()) == "")
    }

    @Test func `trusted ranges add the marks only where they hold`() throws {
        var record = try full("a")
        let partial = FileIdentity(device: 7, inode: 11)
        record.partial = partial
        let marks = try #require(record.written)
        let all = record.durable.union(marks.written)
        #expect(record.trustedRanges(bootID: marks.bootID, mountID: 29, partial: partial) == all)
        #expect(record.trustedRanges(bootID: "x", mountID: 29, partial: partial) == record.durable)
        record.partial = FileIdentity(device: 7, inode: 12)
        #expect(record.trustedRanges(bootID: marks.bootID, mountID: 29, partial: partial) == record.durable)
        record.partial = partial
        record.attempt += 1
        #expect(record.trustedRanges(bootID: marks.bootID, mountID: 29, partial: partial) == record.durable)
    }

    @Test func `the destination asked for tells a file from a directory`() {
        var record = record("a", path: "/d/x")
        #expect(record.destinationKey == "/d/x")
        record.requestedPath = nil
        record.requestedDirectory = "/d"
        #expect(record.destinationKey == "/d/")
        record.requestedFileName = "x"
        #expect(record.destinationKey == "/d/x")
    }
}
