internal import Core
internal import Platform

/// A job with the number that its result carries.
struct TicketedJob: Sendable {
    var job: FileJob
    var ticket: UInt64
    /// The allowed directories for its paths.
    var scope = PathScope.anywhere

    /// Runs a job that is a single step, on the calling thread.
    func performed() -> FileResult {
        FileResult(ticket: ticket, outcome: FileOutcome { () throws(FileError) in try outcome() }, buffer: job.buffer)
    }

    private func outcome() throws(FileError) -> FileOutcome {
        switch job {
        case .inspect(let directory, let name, let partialName, let createsDirectories):
            .inspected(
                try DestinationStatus(
                    directory: directory, name: name, partialName: partialName,
                    createsDirectories: createsDirectories, in: scope))
        case .locate(let directories):
            .located(outside: try outside(directories))
        case .createPartial(let path, let byteCount, let replacesOrphan):
            .opened(try createPartial(path, expectedByteCount: byteCount, replacesOrphan: replacesOrphan, in: scope))
        case .name(let file, let path):
            try file.named(path)
        case .openPartial(let path, let expected, let birth, let destination):
            .opened(
                try Files.openPartial(
                    path, expected: expected, birthNanoseconds: birth, destination: destination, in: scope))
        case .describePartial(let path, let expected):
            .described(try Files.describePartial(path, expected: expected, in: scope))
        case .movePartial(let file, let candidates):
            .moved(path: try Files.movePartial(file, to: candidates))
        case .reserve(let file, let byteCount):
            try file.reserved(byteCount: byteCount)
        case .writeSmall(let path, let buffer, let replacesOrphan):
            .opened(try createPartial(path, holding: buffer, replacesOrphan: replacesOrphan, in: scope))
        case .write(let file, let buffer, let offset, let mark):
            .written(markError: try file.write(buffer, at: offset, mark: mark))
        case .mark(let file, let mark):
            try file.write(mark)
        case .truncate(let file, let byteCount, let mustBeWhole):
            try file.truncate(to: byteCount, mustBeWhole: mustBeWhole)
        case .read(let file, let range):
            .read(try file.read(range))
        case .close(let file):
            try file.close()
        case .discard(let path, let identity):
            .removed(try removeFile(path, identity: identity, byteCount: nil, in: scope))
        case .removeFinished(let path, let identity, let byteCount):
            .removed(try removeFile(path, identity: identity, byteCount: byteCount, in: scope))
        case .examine(let path, nil, _):
            .examined(try examineFile(path, in: scope))
        case .publish, .examine, .lookForPublished, .checkpoint, .syncForFinish, .digest:
            preconditionFailure("a job of more than one step belongs to the worker that knows the others")
        }
    }

    private func outside(_ directories: [String]) throws(FileError) -> Set<String> {
        var outside: Set<String> = []
        for directory in directories where try scope.leadsOut(directory) { outside.insert(directory) }
        return outside
    }
}

extension FileOutcome {
    /// The outcome of work that may fail.
    init(_ body: () throws(FileError) -> FileOutcome) {
        do throws(FileError) {
            self = try body()
        } catch {
            self = .failed(error)
        }
    }
}

extension FileJob {
    /// The buffer that the result must return.
    var buffer: IOBuffer? {
        switch self {
        case .write(_, let buffer, _, _), .writeSmall(_, let buffer, _): buffer
        default: nil
        }
    }
}
