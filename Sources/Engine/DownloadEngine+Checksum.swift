internal import Core
internal import Files
internal import Store

/// Verifies the finished file, and retries if its checksum differs.
extension DownloadEngine {
    /// Compares the complete, durable file with its checksum.
    func verify(_ download: Download, _ file: OpenFile, _ checksum: Checksum, _ total: Int64) {
        change(download, phase: .verifying)
        let generation = download.generation
        let cancellation = CancellationFlag()
        download.digestCancellation = cancellation
        submit(.digest(file, checksum.algorithm, cancellation: cancellation)) { [self] outcome in
            guard generation == download.generation else { return }
            switch outcome {
            case .success(let digest) where digest.hexadecimal == checksum.value && digest.byteCount == total:
                download.record.isLengthVerified = true
                change(download, phase: .finalizing)
                recordFinalizing(download, file, total)
            case .success where download.record.transfer?.mode == .resumed && !download.hasFetchedAnew:
                fetchAnew(download)
            case .success where download.isDecoded && !download.keepsCoding: fetchEncoded(download)
            case .success(let digest):
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
            case .failure(let error): diskFailed(download, error)
            }
        }
    }

    /// The decoded body does not match the checksum: perhaps the encoded bytes do.
    func fetchEncoded(_ download: Download) {
        download.keepsCoding = true
        fetchAnew(download)
    }

    /// The encoded bytes do not match the checksum either: the download fails because they could not be decoded.
    private func codingRefused(_ download: Download, _ failure: DownloadFailure) {
        download.codingFailure = nil
        download.keepsCoding = false
        download.hasComparedEncoded = true
        discardHeld(download)
        download.record.entity = nil
        download.lossReason = .encodedResponse
        attemptFailed(download, failure)
    }

    /// The bytes of several responses make a wrong file. Perhaps they are not of the same file, so all are requested
    /// again, in one response.
    private func fetchAnew(_ download: Download) {
        download.hasFetchedAnew = true
        discardHeld(download)
        download.record.entity = nil
        download.lossReason = .checksumMismatch
        change(download, to: .queued)
        enqueue(download)
    }
}
