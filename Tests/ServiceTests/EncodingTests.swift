import Core
import JSON
import RPC
import Testing

@testable import Engine
@testable import Service

@Suite struct TimestampTests {
    @Test(arguments: [
        (Int64(0), "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
        (951_782_399_999, "2000-02-28T23:59:59.999Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
        (4_107_542_400_000, "2100-03-01T00:00:00.000Z"), (1_700_000_000_123, "2023-11-14T22:13:20.123Z"),
        (253_402_300_799_999, "9999-12-31T23:59:59.999Z"), (.max, "9999-12-31T23:59:59.999Z"),
        (.min, "0000-01-01T00:00:00.000Z"),
    ])
    func `milliseconds become a time of RFC 3339`(milliseconds: Int64, text: String) {
        #expect(Timestamp.text(unixMilliseconds: milliseconds) == text)
    }
}

@Suite struct DownloadEncodingTests {
    @Test(arguments: [true, false])
    func `a download has all its members and fits its schema`(isFull: Bool) throws {
        let encoded = (isFull ? DownloadSnapshot.full : .empty).encoded()
        #expect(encoded.keys == Components.downloadMembers.map(\.name))
        let schema = Schema.object(Components.downloadMembers, isClosed: true)
        #expect(try schema.checked(.object(encoded), at: "download") == .object(encoded))
    }

    @Test func `what is unknown is null`() {
        let encoded = DownloadSnapshot.empty.encoded()
        let nulls = encoded.members.filter(\.value.isNull).map(\.key)
        #expect(
            nulls == [
                "finalUrl", "path", "partialPath", "suggestedFileName", "contentType", "reason", "phase",
                "totalBytes",
                "bytesPerSecond", "etaMs", "resumable", "lengthVerified", "transfer", "retryAt", "checksum", "error",
                "metadata",
                "completedAt",
            ]
        )
    }

    @Test func `what is known is told`() {
        let encoded = DownloadSnapshot.full.encoded()
        let transfer: JSONValue = ["mode": "restarted", "offset": 0, "why": "validatorChanged", "identity": .null]
        #expect(encoded["transfer"] == transfer)
        #expect(encoded["error"]?["kind"] == "httpStatus")
        #expect(encoded["metadata"] == ["k": [1, "é"]])
        #expect(encoded["retryAt"] == "2023-11-14T22:13:20.000Z")
    }

    @Test func `the longest download still fits into a message`() {
        var download = DownloadSnapshot.full
        download.url = "http://h/" + String(repeating: "é", count: 4_000)
        download.finalURL = download.url
        download.path = "/" + String(repeating: "é", count: 2_000)
        download.partialPath = download.path
        download.suggestedFileName = String(repeating: "é", count: 4_000)
        download.metadataText = #"{"k":"\#(String(repeating: "é", count: 2_000))"}"#
        let encoded = download.encoded()
        #expect(JSONValue.object(encoded).serialized().count <= OutgoingLimits.messageByteCount - 1_000)
        #expect(encoded["url"] == .string(download.url))
        #expect(encoded.keys == Components.downloadMembers.map(\.name))
    }
}

@Suite struct EngineErrorTests {
    static let all: [(EngineError, RPCErrorKind)] = [
        (.downloadNotFound(id: "a"), .downloadNotFound),
        (.invalidState(id: "a", state: .completed, command: .pause), .invalidState),
        (.destinationExists(path: "/p"), .destinationConflict),
        (.destinationHeld(path: "/p", id: "b"), .destinationConflict),
        (.directoryMissing(path: "/p"), .destinationConflict),
        (.idConflict(id: "a", differs: ["url"]), .idConflict),
        (.unsupportedURL(message: "m"), .unsupportedUrl),
        (.limitExceeded(limit: "downloads", maximum: 1), .limitExceeded),
        (.permissionDenied(path: "/p"), .permissionDenied),
        (.storageFailure(message: "m"), .storageFailure),
        (.internalError(message: "m"), .internalError),
        (.lockedElsewhere(id: "a"), .lockedElsewhere),
        (.cursorExpired, .cursorExpired),
        (.invalidCursor, .invalidParams),
        (.shuttingDown, .shuttingDown),
    ]

    @Test(arguments: all.indices)
    func `every error of the engine has its kind on the wire`(index: Int) {
        let (error, kind) = Self.all[index]
        let encoded = RPCError(error)
        #expect(encoded.data["kind"] == .string(kind.rawValue))
        #expect(encoded.code == kind.code)
        #expect(!encoded.message.isEmpty && !encoded.message.contains("\n"))
    }

    @Test func `a conflict names what it is about`() {
        #expect(RPCError(EngineError.destinationHeld(path: "/p", id: "holder")).data["id"] == "holder")
        #expect(
            RPCError(EngineError.idConflict(id: "a", differs: ["url", "path"])).data["differs"] == ["url", "path"])
    }

    @Test func `a path cannot break the message's line`() {
        let error = RPCError(EngineError.destinationExists(path: "/a\nb"))
        #expect(!error.message.contains("\n"))
        #expect(error.data["path"] == "/a\nb")
    }
}

@Suite struct ListPageTests {
    private func answer(_ count: Int, metadataByteCount: Int) -> ListAnswer {
        var download = DownloadSnapshot.empty
        download.metadataText = #"{"k":"\#(String(repeating: "m", count: metadataByteCount))"}"#
        let entries = (0..<count).map { index in
            download.id = "d\(index)"
            return ListAnswer.Entry(download: download, cursorAfter: "c\(index)", removedIDs: ["r\(index)"])
        }
        return ListAnswer(entries: entries, removedIDs: ["all"], nextCursor: "next", revision: 9)
    }

    @Test func `a page that fits is passed on whole`() {
        let page = ListPage(answer(10, metadataByteCount: 10), fields: nil).members
        #expect(page["downloads"]?.array?.count == 10)
        #expect(page["nextCursor"] == "next")
        #expect(page["removed"] == ["all"])
    }

    @Test func `a page that is too long ends early, with the cursor and removals of its last entry`() throws {
        let page = ListPage(answer(100, metadataByteCount: 3_000), fields: nil).members
        let count = try #require(page["downloads"]?.array?.count)
        #expect((5..<20).contains(count))
        #expect(page["nextCursor"] == .string("c\(count - 1)"))
        #expect(page["removed"] == [.string("r\(count - 1)")])
        #expect(JSONValue.object(page).serialized().count <= Limits.pageByteCount)
    }

    @Test func `fields choose members, and id comes along`() {
        let page = ListPage(answer(1, metadataByteCount: 1), fields: ["state", "receivedBytes"]).members
        #expect(page["downloads"]?.array?.first?.object?.keys == ["id", "state", "receivedBytes"])
    }
}

extension DownloadSnapshot {
    static let empty = DownloadSnapshot(
        id: "a",
        url: "http://h/f",
        state: .queued,
        owner: .`self`,
        receivedByteCount: 0,
        transferredByteCount: 0,
        contiguousByteCount: 0,
        connections: 0,
        attempt: 1,
        priority: 0,
        createdAtUnixMilliseconds: 0,
        updatedAtUnixMilliseconds: 0,
        revision: 1,
        isBackground: false
    )

    static let full = DownloadSnapshot(
        id: "a",
        url: "http://h/f",
        finalURL: "http://h/g",
        path: "/w/f",
        partialPath: "/w/f.towline",
        keptPaths: ["/w/f.2.towline"],
        suggestedFileName: "f",
        contentType: "text/plain",
        state: .waiting,
        reason: .retry,
        phase: .downloading,
        owner: .other,
        receivedByteCount: 5,
        totalByteCount: 10,
        transferredByteCount: 5,
        contiguousByteCount: 5,
        bytesPerSecond: 1,
        etaMilliseconds: 5_000,
        connections: 1,
        attempt: 2,
        isResumable: true,
        isLengthVerified: false,
        transfer: TransferOrigin(mode: .restarted, offset: 0, why: .validatorChanged),
        retryAtUnixMilliseconds: 1_700_000_000_000,
        checksum: Checksum(algorithm: .sha256, value: String(repeating: "0", count: 64)),
        failure: DownloadFailure(.httpStatus, "The server answered 503.", isRetryable: true, httpStatus: 503),
        priority: -3,
        metadataText: #"{"k":[1,"é"]}"#,
        createdAtUnixMilliseconds: 1,
        updatedAtUnixMilliseconds: 2,
        completedAtUnixMilliseconds: 3,
        revision: 4,
        isBackground: false
    )
}
