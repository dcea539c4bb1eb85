internal import Core
internal import Platform

/// The hash lane: reads files and computes their digests, one at a time.
struct HashWorker: LaneWorker {
    /// How much is read between two checks of the flags.
    static let sliceByteCount = 1 << 20

    let results: Mailbox<FileResult>
    let stopping: CancellationFlag

    func perform(_ jobs: [TicketedJob]) {
        for job in jobs {
            let outcome = FileOutcome { () throws(FileError) in
                switch job.job {
                case .digest(let file, let algorithm, let cancellation):
                    .digested(try digest(file, algorithm, cancellation))
                case .examine(let path, let algorithm?, let cancellation):
                    .examined(try examine(path, algorithm, cancellation, in: job.scope))
                default: preconditionFailure("the hash lane takes no other jobs")
                }
            }
            results.send(FileResult(ticket: job.ticket, outcome: outcome))
        }
    }

    private func examine(
        _ path: String, _ algorithm: Checksum.Algorithm, _ cancellation: CancellationFlag, in scope: PathScope
    ) throws(FileError) -> ExaminedFile? {
        guard let before = try examineFile(path, in: scope), let file = try openExamined(path, before, in: scope) else {
            return nil
        }
        var found = before
        let made = try digest(file, algorithm, cancellation)
        // A file that changed while it was read has no digest.
        if try examineFile(path, in: scope) == before { found.digest = made }
        return found
    }

    private func digest(
        _ file: OpenFile,
        _ algorithm: Checksum.Algorithm,
        _ cancellation: CancellationFlag
    ) throws(FileError) -> FileDigest {
        let handle = try file.handle(for: .digest)
        guard let digest = Digest(algorithm) else { throw FileError(.digest, file.path, .digestUnavailable) }
        var slice = [UInt8](repeating: 0, count: Self.sliceByteCount)
        var offset: Int64 = 0
        while true {
            if cancellation.isCanceled { throw FileError(.digest, file.path, .canceled) }
            if stopping.isCanceled { throw FileError(.digest, file.path, .stopped) }
            let count = try attempt(.read, file.path) { () throws(Errno) in
                try handle.descriptor.read(into: &slice, at: offset)
            }
            guard digest.update(slice, count: count) else { throw FileError(.digest, file.path, .digestUnavailable) }
            offset += Int64(count)
            if count < slice.count { break }
        }
        guard let text = digest.hexadecimal() else { throw FileError(.digest, file.path, .digestUnavailable) }
        return FileDigest(hexadecimal: text, byteCount: offset)
    }
}
