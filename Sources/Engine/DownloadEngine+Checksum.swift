internal import Core
internal import Files
internal import Store

/// The finished file against its checksum, and what is tried when they differ.
extension DownloadEngine {
    /// Compares the whole, durable file with its checksum.
    func verify(_ download: Download, _ file: OpenFile, _ checksum: Checksum, _ total: Int64) {
        change(download, phase: .verifying)
        let generation = download.generation
        let cancellation = CancellationFlag()
        download.digestCancellation = cancellation
        submit(.digest(file, checksum.algorithm, cancellation: cancellation)) { [self] outcome in
            guard generation == download.generation else { return }
            switch outcome {
            case .digested(let digest) where digest.hexadecimal == checksum.value && digest.byteCount == total:
                download.record.isLengthVerified = true
                change(download, phase: .finalizing)
                recordFinalizing(download, file, total)
            case .digested where download.record.transfer?.mode == .resumed && !download.hasFetchedAnew:
                fetchAnew(download)
            case .digested where download.isDecoded && !download.keepsCoding: fetchEncoded(download)
            case .digested(let digest):
                if let failure = download.codingFailure { return codingRefused(download, failure) }
                let message =
                    "the file's \(checksum.algorithm.rawValue) is \(digest.hexadecimal), not \(checksum.value)"
                download.record.wastedByteCount += total
                uncount(download, keeping: ByteRangeSet())
                discardPartial(download)
                download.lossReason = .checksumMismatch
                download.keepsCoding = false
                download.record.entity = nil
                fail(download, DownloadFailure(.checksumMismatch, message, isRetryable: false))
            case .failed(let error): diskFailed(download, error)
            default: note(.error, "unexpected answer to a digest", download)
            }
        }
    }

    /// What a compressed body decodes to is not the file of the checksum: perhaps the encoded bytes are.
    func fetchEncoded(_ download: Download) {
        download.keepsCoding = true
        fetchAnew(download)
    }

    /// The checksum does not name the encoded bytes either: the failure is that they could not be decoded.
    private func codingRefused(_ download: Download, _ failure: DownloadFailure) {
        download.codingFailure = nil
        download.keepsCoding = false
        download.hasComparedEncoded = true
        discardHeld(download)
        download.record.entity = nil
        download.lossReason = .encodedResponse
        attemptFailed(download, failure)
    }

    /// The bytes of several responses make a wrong file: perhaps they do not belong together, so all of them are asked for
    /// once more, in one.
    private func fetchAnew(_ download: Download) {
        download.hasFetchedAnew = true
        discardHeld(download)
        download.record.entity = nil
        download.lossReason = .checksumMismatch
        change(download, to: .queued)
        enqueue(download)
    }
}
