package import Core
package import Platform

/// A job with the type of its result: code that uses it handles only results that this job can have.
///
/// Each factory is described at the `FileJob` with its name.
package struct FileRequest<Answer: Sendable>: Sendable {
    package let job: FileJob
    private let read: @Sendable (FileOutcome) -> Answer?

    fileprivate init(_ job: FileJob, _ read: @escaping @Sendable (FileOutcome) -> Answer?) {
        self.job = job
        self.read = read
    }

    /// The result of this type in an outcome; a failure for an outcome of another job.
    package func result(_ outcome: FileOutcome) -> Result<Answer, FileError> {
        if case .failed(let error) = outcome { return .failure(error) }
        if let answer = read(outcome) { return .success(answer) }
        assertionFailure("a file worker answered \(job) with \(outcome)")
        let (operation, path) = job.subject
        return .failure(FileError(operation, path, .wrongAnswer))
    }
}

extension FileRequest<DestinationStatus> {
    package static func inspect(
        directory: String, name: String? = nil, partialName: String? = nil, createsDirectories: Bool = false
    ) -> Self {
        Self(
            .inspect(
                directory: directory, name: name, partialName: partialName, createsDirectories: createsDirectories)
        ) { if case .inspected(let status) = $0 { status } else { nil } }
    }
}

extension FileRequest<Set<String>> {
    /// The result: the directories that are outside.
    package static func locate(directories: [String]) -> Self {
        Self(.locate(directories: directories)) { if case .located(let outside) = $0 { outside } else { nil } }
    }
}

extension FileRequest<OpenedPartial> {
    package static func createPartial(path: String, expectedByteCount: Int64?, replacesOrphan: Bool) -> Self {
        Self(.createPartial(path: path, expectedByteCount: expectedByteCount, replacesOrphan: replacesOrphan), opened)
    }

    package static func writeSmall(path: String, _ buffer: IOBuffer, replacesOrphan: Bool) -> Self {
        Self(.writeSmall(path: path, buffer, replacesOrphan: replacesOrphan), opened)
    }

    package static func openPartial(
        path: String, expected: FileIdentity?, birthNanoseconds: Int64? = nil, destination: String? = nil
    ) -> Self {
        Self(
            .openPartial(
                path: path, expected: expected, birthNanoseconds: birthNanoseconds, destination: destination), opened)
    }

    private static let opened: @Sendable (FileOutcome) -> OpenedPartial? = {
        if case .opened(let opened) = $0 { opened } else { nil }
    }
}

extension FileRequest<PartialDescription> {
    package static func describePartial(path: String, expected: FileIdentity) -> Self {
        Self(.describePartial(path: path, expected: expected)) {
            if case .described(let description) = $0 { description } else { nil }
        }
    }
}

extension FileRequest<String> {
    /// The result: the partial's new path.
    package static func movePartial(_ file: OpenFile, candidates: [String]) -> Self {
        Self(.movePartial(file, candidates: candidates)) { if case .moved(let path) = $0 { path } else { nil } }
    }
}

extension FileRequest<Void> {
    package static func name(_ file: OpenFile, path: String) -> Self {
        Self(.name(file, path: path)) { if case .named = $0 { () } else { nil } }
    }

    package static func reserve(_ file: OpenFile, byteCount: Int64) -> Self {
        Self(.reserve(file, byteCount: byteCount)) { if case .reserved = $0 { () } else { nil } }
    }

    package static func mark(_ file: OpenFile, _ mark: Mark) -> Self {
        Self(.mark(file, mark)) { if case .marked = $0 { () } else { nil } }
    }

    package static func checkpoint(_ file: OpenFile) -> Self { Self(.checkpoint(file), synchronized) }

    package static func syncForFinish(_ file: OpenFile, byteCount: Int64 = 0) -> Self {
        Self(.syncForFinish(file, byteCount: byteCount), synchronized)
    }

    package static func truncate(_ file: OpenFile, to byteCount: Int64, mustBeWhole: Bool = false) -> Self {
        Self(.truncate(file, to: byteCount, mustBeWhole: mustBeWhole)) { if case .truncated = $0 { () } else { nil } }
    }

    package static func close(_ file: OpenFile) -> Self {
        Self(.close(file)) { if case .closed = $0 { () } else { nil } }
    }

    private static let synchronized: @Sendable (FileOutcome) -> Void? = {
        if case .synchronized = $0 { () } else { nil }
    }
}

extension FileRequest<Errno?> {
    /// The result: why the mark could not be written, if it could not.
    package static func write(_ file: OpenFile, _ buffer: IOBuffer, offset: Int64, mark: Mark?) -> Self {
        Self(.write(file, buffer, offset: offset, mark: mark)) {
            if case .written(let markError) = $0 { .some(markError) } else { nil }
        }
    }
}

extension FileRequest<FileDigest> {
    package static func digest(
        _ file: OpenFile, _ algorithm: Checksum.Algorithm, cancellation: CancellationFlag
    ) -> Self {
        Self(.digest(file, algorithm, cancellation: cancellation)) {
            if case .digested(let digest) = $0 { digest } else { nil }
        }
    }
}

extension FileRequest<ExaminedFile?> {
    /// The result is nil when there is no regular file.
    package static func examine(
        path: String, digest: Checksum.Algorithm? = nil, cancellation: CancellationFlag
    ) -> Self {
        Self(.examine(path: path, digest: digest, cancellation: cancellation)) {
            if case .examined(let found) = $0 { .some(found) } else { nil }
        }
    }
}

extension FileRequest<PublishedFile> {
    package static func publish(_ publication: Publication) -> Self {
        Self(.publish(publication)) { if case .published(let file) = $0 { file } else { nil } }
    }
}

extension FileRequest<PublishedFile?> {
    /// The result is nil when the file was not published.
    package static func lookForPublished(
        finalPath: String, identity: FileIdentity, byteCount: Int64, mode: PublishMode
    ) -> Self {
        Self(.lookForPublished(finalPath: finalPath, identity: identity, byteCount: byteCount, mode: mode)) {
            switch $0 {
            case .published(let file): .some(file)
            case .notPublished: .some(nil)
            default: nil
            }
        }
    }
}

extension FileRequest<Removal> {
    package static func discard(path: String, identity: FileIdentity) -> Self {
        Self(.discard(path: path, identity: identity), removed)
    }

    package static func removeFinished(path: String, identity: FileIdentity, byteCount: Int64) -> Self {
        Self(.removeFinished(path: path, identity: identity, byteCount: byteCount), removed)
    }

    private static let removed: @Sendable (FileOutcome) -> Removal? = {
        if case .removed(let removal) = $0 { removal } else { nil }
    }
}

extension FileRequest<[UInt8]> {
    package static func read(_ file: OpenFile, _ range: ByteRange) -> Self {
        Self(.read(file, range)) { if case .read(let bytes) = $0 { bytes } else { nil } }
    }
}
