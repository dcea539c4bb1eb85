package import Core
internal import JSON
internal import Platform

/// The columns of a record, in the order in which they are bound (from 1) and read (from 0).
enum RecordColumn: Int32, CaseIterable {
    case id
    case url
    case requestedPath
    case requestedDirectory
    case requestedFileName
    case destinationKey
    case path
    case partialPath
    case partialDevice
    case partialInode
    case keptPaths
    case ifExists
    case checksum
    case options
    case headers
    case metadata
    case trail
    case priority
    case state
    case reason
    case intent
    case owner
    case entityFlags
    case entityByteCount
    case entityETag
    case entityLastModified
    case entityDate
    case entityType
    case entityEncoding
    case durable
    case written
    case slot
    case attempt
    case failureCount
    case transferMode
    case transferOffset
    case transferWhy
    case transferIdentity
    case lengthVerified
    case retryAt
    case errorKind
    case errorMessage
    case errorRetryable
    case errorStatus
    case errorCurl
    case errorErrno
    case errorHolder
    case createdAt
    case updatedAt
    case completedAt
    case finalURL
    case suggestedFileName
    case contentType
    case transferredByteCount
    case wastedByteCount
    case isFinalizing
    case finishedDevice
    case finishedInode
    case finishedByteCount
    case sequence
    case revision

    var name: String { "\(self)" }
    var parameter: Int32 { rawValue + 1 }
}

/// Ranges as text, `0-100,200-300`: half-open, ascending.
package func rangesText(_ ranges: ByteRangeSet) -> String {
    ranges.ranges.map { "\($0.lowerBound)-\($0.upperBound)" }.joined(separator: ",")
}

/// Parses ranges; an empty set if any part is malformed, because downloading again is always correct.
package func ranges(fromText text: String) -> ByteRangeSet {
    var ranges: [ByteRange] = []
    for part in text.split(separator: ",", omittingEmptySubsequences: true) {
        let bounds = part.split(separator: "-", omittingEmptySubsequences: false)
        guard bounds.count == 2, let lower = Int64(bounds[0]), let upper = Int64(bounds[1]),
            let range = ByteRange(lower, upper)
        else { return ByteRangeSet() }
        ranges.append(range)
    }
    return ByteRangeSet(ranges)
}

private struct EntityFlags {
    static let strongLastModified: Int64 = 1
    static let http11: Int64 = 2
    static let refusesRanges: Int64 = 4
}

extension Statement {
    /// Binds every column; `owner`, `sequence` and `revision` come from the parameters, not from the record.
    borrowing func bind(
        _ record: DownloadRecord,
        owner: Int64,
        sequence: Int64,
        revision: Int64
    ) throws(StoreError) {
        try bind(.id, record.id)
        try bind(.url, record.url)
        try bindPlaces(record)
        try bind(.ifExists, record.ifExists.rawValue)
        try bind(.checksum, record.checksum.map { "\($0.algorithm.rawValue):\($0.value)" })
        try bind(.options, record.optionsText)
        try bind(.headers, record.headersText)
        try bind(.metadata, record.metadataText)
        try bind(.trail, record.trailText)
        try bind(.priority, record.priority)
        try bind(.state, record.state.rawValue)
        try bind(.reason, record.reason?.rawValue)
        try bind(.intent, record.intent.rawValue)
        try bind(.owner, owner)
        try bind(record.entity)
        try bind(.durable, rangesText(record.durable))
        try bind(RecordColumn.written.parameter, record.written.map { ProgressSlot.encode($0) })
        try bind(.slot, record.slotIndex.map { Int64($0) })
        try bind(.attempt, record.attempt)
        try bind(.failureCount, record.failureCount)
        try bind(.transferMode, record.transfer?.mode.rawValue)
        try bind(.transferOffset, record.transfer?.offset)
        try bind(.transferWhy, record.transfer?.why?.rawValue)
        try bind(.transferIdentity, record.transfer?.identity?.rawValue)
        try bind(.lengthVerified, record.isLengthVerified.map { $0 ? 1 : 0 })
        try bind(.retryAt, record.retryAtMilliseconds)
        try bind(record.failure)
        try bind(.createdAt, record.createdAtMilliseconds)
        try bind(.updatedAt, record.updatedAtMilliseconds)
        try bind(.completedAt, record.completedAtMilliseconds)
        try bind(.finalURL, record.finalURL)
        try bind(.suggestedFileName, record.suggestedFileName)
        try bind(.contentType, record.contentType)
        try bind(.transferredByteCount, record.transferredByteCount)
        try bind(.wastedByteCount, record.wastedByteCount)
        try bind(.isFinalizing, record.isFinalizing ? 1 : 0)
        try bind(.finishedDevice, record.finished.map { Int64(bitPattern: $0.identity.device) })
        try bind(.finishedInode, record.finished.map { Int64(bitPattern: $0.identity.inode) })
        try bind(.finishedByteCount, record.finished?.byteCount)
        try bind(.sequence, sequence)
        try bind(.revision, revision)
    }

    private borrowing func bindPlaces(_ record: DownloadRecord) throws(StoreError) {
        try bind(.requestedPath, record.requestedPath)
        try bind(.requestedDirectory, record.requestedDirectory)
        try bind(.requestedFileName, record.requestedFileName)
        try bind(.destinationKey, record.destinationKey)
        try bind(.path, record.path)
        try bind(.partialPath, record.partialPath)
        try bind(.partialDevice, record.partial.map { Int64(bitPattern: $0.device) })
        try bind(.partialInode, record.partial.map { Int64(bitPattern: $0.inode) })
        let kept = JSONValue.array(record.keptPaths.map { .string($0) })
        try bind(.keptPaths, record.keptPaths.isEmpty ? nil : String(decoding: kept.serialized(), as: UTF8.self))
    }

    private borrowing func bind(_ entity: Entity?) throws(StoreError) {
        let flags = entity.map { entity in
            (entity.isLastModifiedStrong ? EntityFlags.strongLastModified : 0)
                | (entity.isHTTP11 ? EntityFlags.http11 : 0)
                | (entity.refusesRanges ? EntityFlags.refusesRanges : 0)
        }
        try bind(.entityFlags, flags)
        try bind(.entityByteCount, entity?.totalByteCount)
        try bind(.entityETag, entity?.etag)
        try bind(.entityLastModified, entity?.lastModified)
        try bind(.entityDate, entity?.date)
        try bind(.entityType, entity?.contentType)
        try bind(.entityEncoding, entity?.contentEncoding)
    }

    private borrowing func bind(_ failure: DownloadFailure?) throws(StoreError) {
        try bind(.errorKind, failure?.kind.rawValue)
        try bind(.errorMessage, failure?.message)
        try bind(.errorRetryable, failure.map { $0.isRetryable ? 1 : 0 })
        try bind(.errorStatus, failure?.httpStatus.map { Int64($0) })
        try bind(.errorCurl, failure?.curlCode.map { Int64($0) })
        try bind(.errorErrno, failure?.errno.map { Int64($0) })
        try bind(.errorHolder, failure?.holderID)
    }

    private borrowing func bind(_ column: RecordColumn, _ value: Int64?) throws(StoreError) {
        try bind(column.parameter, value)
    }

    private borrowing func bind(_ column: RecordColumn, _ value: String?) throws(StoreError) {
        try bind(column.parameter, value)
    }

    /// Reads the record in the current row, within its limits.
    ///
    /// An unknown word is replaced by a harmless one, because a damaged cell must not hide all other downloads.
    borrowing func record() -> DownloadRecord {
        var record = DownloadRecord(
            id: text(RecordColumn.id.rawValue),
            url: text(RecordColumn.url.rawValue),
            state: word(.state) ?? .failed,
            reason: word(.reason),
            intent: word(.intent) ?? .paused,
            createdAtMilliseconds: integer(RecordColumn.createdAt.rawValue)
        )
        readPlaces(into: &record)
        record.ifExists = word(.ifExists) ?? .error
        record.checksum = checksum()
        record.optionsText = text(RecordColumn.options.rawValue)
        record.headersText = text(RecordColumn.headers.rawValue)
        record.metadataText = optionalText(RecordColumn.metadata.rawValue)
        record.trailText = optionalText(RecordColumn.trail.rawValue)
        record.priority = integer(RecordColumn.priority.rawValue)
        let owner = integer(RecordColumn.owner.rawValue)
        record.owner = owner == 0 ? nil : owner
        record.entity = entity()
        record.durable = ranges(fromText: text(RecordColumn.durable.rawValue))
        record.written = optionalBlob(RecordColumn.written.rawValue).flatMap { ProgressSlot.decode($0) }
        record.slotIndex = optionalInteger(RecordColumn.slot.rawValue).flatMap { Int(exactly: $0) }
        readProgress(into: &record)
        record.failure = failure()
        record.updatedAtMilliseconds = integer(RecordColumn.updatedAt.rawValue)
        record.completedAtMilliseconds = optionalInteger(RecordColumn.completedAt.rawValue)
        record.finalURL = optionalText(RecordColumn.finalURL.rawValue)
        record.suggestedFileName = optionalText(RecordColumn.suggestedFileName.rawValue)
        record.contentType = optionalText(RecordColumn.contentType.rawValue)
        record.isFinalizing = integer(RecordColumn.isFinalizing.rawValue) != 0
        if let identity = identity(.finishedDevice, .finishedInode) {
            let byteCount = integer(RecordColumn.finishedByteCount.rawValue)
            record.finished = FinishedFile(identity: identity, byteCount: byteCount)
        }
        record.sequence = integer(RecordColumn.sequence.rawValue)
        record.revision = integer(RecordColumn.revision.rawValue)
        // Earlier versions stored the userinfo in the URL, and showed it.
        if case (let bare, let userInfo?) = URLUserInfo.split(record.url) {
            record.url = bare
            record.headersText = URLUserInfo.keeping(userInfo, in: record.headersText)
        }
        record.keepWithinLimits()
        return record
    }

    private borrowing func readPlaces(into record: inout DownloadRecord) {
        record.requestedPath = optionalText(RecordColumn.requestedPath.rawValue)
        record.requestedDirectory = optionalText(RecordColumn.requestedDirectory.rawValue)
        record.requestedFileName = optionalText(RecordColumn.requestedFileName.rawValue)
        record.path = optionalText(RecordColumn.path.rawValue)
        record.partialPath = optionalText(RecordColumn.partialPath.rawValue)
        record.partial = identity(.partialDevice, .partialInode)
        if let text = optionalText(RecordColumn.keptPaths.rawValue), let kept = try? parseJSON(text) {
            record.keptPaths = kept.array?.compactMap { $0.string } ?? []
        }
    }

    private borrowing func readProgress(into record: inout DownloadRecord) {
        record.attempt = integer(RecordColumn.attempt.rawValue)
        record.failureCount = integer(RecordColumn.failureCount.rawValue)
        if let mode: TransferOrigin.Mode = word(.transferMode) {
            let offset = integer(RecordColumn.transferOffset.rawValue)
            record.transfer = TransferOrigin(
                mode: mode, offset: offset, why: word(.transferWhy), identity: word(.transferIdentity))
        }
        record.isLengthVerified = optionalInteger(RecordColumn.lengthVerified.rawValue).map { $0 != 0 }
        record.retryAtMilliseconds = optionalInteger(RecordColumn.retryAt.rawValue)
        record.transferredByteCount = integer(RecordColumn.transferredByteCount.rawValue)
        record.wastedByteCount = integer(RecordColumn.wastedByteCount.rawValue)
    }

    private borrowing func entity() -> Entity? {
        guard let flags = optionalInteger(RecordColumn.entityFlags.rawValue) else { return nil }
        return Entity(
            totalByteCount: optionalInteger(RecordColumn.entityByteCount.rawValue),
            etag: optionalText(RecordColumn.entityETag.rawValue),
            lastModified: optionalText(RecordColumn.entityLastModified.rawValue),
            date: optionalText(RecordColumn.entityDate.rawValue),
            contentType: optionalText(RecordColumn.entityType.rawValue),
            contentEncoding: optionalText(RecordColumn.entityEncoding.rawValue),
            isLastModifiedStrong: flags & EntityFlags.strongLastModified != 0,
            isHTTP11: flags & EntityFlags.http11 != 0,
            refusesRanges: flags & EntityFlags.refusesRanges != 0
        )
    }

    private borrowing func failure() -> DownloadFailure? {
        guard let kind = optionalText(RecordColumn.errorKind.rawValue) else { return nil }
        return DownloadFailure(
            FailureKind(rawValue: kind) ?? .internal,
            text(RecordColumn.errorMessage.rawValue),
            isRetryable: integer(RecordColumn.errorRetryable.rawValue) != 0,
            httpStatus: optionalInteger(RecordColumn.errorStatus.rawValue).flatMap { Int(exactly: $0) },
            curlCode: optionalInteger(RecordColumn.errorCurl.rawValue).flatMap { Int(exactly: $0) },
            errno: optionalInteger(RecordColumn.errorErrno.rawValue).flatMap { Int(exactly: $0) },
            holderID: optionalText(RecordColumn.errorHolder.rawValue)
        )
    }

    private borrowing func checksum() -> Checksum? {
        guard let text = optionalText(RecordColumn.checksum.rawValue) else { return nil }
        let parts = text.split(separator: ":", maxSplits: 1)
        guard parts.count == 2, let algorithm = Checksum.Algorithm(rawValue: String(parts[0])) else {
            // A checksum that cannot be read must fail, not be skipped.
            return Checksum(algorithm: .sha256, value: text)
        }
        return Checksum(algorithm: algorithm, value: String(parts[1]))
    }

    private borrowing func identity(_ device: RecordColumn, _ inode: RecordColumn) -> FileIdentity? {
        guard let device = optionalInteger(device.rawValue), let inode = optionalInteger(inode.rawValue) else {
            return nil
        }
        return FileIdentity(device: UInt64(bitPattern: device), inode: UInt64(bitPattern: inode))
    }

    private borrowing func word<Word: RawRepresentable<String>>(_ column: RecordColumn) -> Word? {
        optionalText(column.rawValue).flatMap { Word(rawValue: $0) }
    }
}
