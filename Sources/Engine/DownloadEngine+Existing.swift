internal import Core
internal import Curl
internal import Files
internal import Platform
internal import Store

/// A file at the destination that the server is asked about.
struct ExistingLook {
    var found: ExaminedFile
    var file: ExistingFile
}

/// `ifExists: skip`: an existing file at the destination is kept if it is the right one; otherwise it is replaced at
/// the end.
///
/// With a checksum its digest decides, else the server's response. Nothing of this is recorded: after a crash the file
/// is checked again.
extension DownloadEngine {
    /// Checks the file at the destination if necessary, then continues.
    func examineExisting(_ download: Download) {
        guard download.record.ifExists == .skip, let path = download.record.path else { return openOrConnect(download) }
        examine(download, path, digest: nil) { [self] found in
            guard let found, found != download.otherFile else { return openOrConnect(download) }
            guard let checksum = download.record.checksum else { return lookUpRecord(download, path, found) }
            change(download, phase: .verifying)
            examine(download, path, digest: checksum.algorithm) { [self] found in
                guard var found else { return openOrConnect(download) }
                if found.digest?.hexadecimal == checksum.value { return keepExisting(download, found, .checksum, nil) }
                found.digest = nil
                download.otherFile = found
                openOrConnect(download)
            }
        }
    }

    private func examine(
        _ download: Download, _ path: String, digest: Checksum.Algorithm?, then body: @escaping (ExaminedFile?) -> Void
    ) {
        let generation = download.generation
        let cancellation = CancellationFlag()
        download.digestCancellation = cancellation
        submit(.examine(path: path, digest: digest, cancellation: cancellation)) { [self] outcome in
            guard generation == download.generation else { return }
            download.digestCancellation = nil
            switch outcome {
            case .success(let found): body(found)
            case .failure(let error): diskFailed(download, error)
            }
        }
    }

    /// What our records say about the file, if it is unchanged since that download finished it.
    private func lookUpRecord(_ download: Download, _ path: String, _ found: ExaminedFile) {
        let generation = download.generation
        submit(.getFinished(path: path, url: download.record.url)) { [self] outcome in
            guard generation == download.generation else { return }
            let (seconds, rest) = found.modifiedNanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
            var file = ExistingFile(
                byteCount: found.byteCount, modifiedSeconds: rest < 0 ? seconds - 1 : seconds)
            if case .success(let loaded?) = outcome, loaded.record.isFile(found) { file.entity = loaded.record.entity }
            ask(download, ExistingLook(found: found, file: file))
        }
    }

    /// Asks the server for the file unless the existing one is already known to be right.
    private func ask(_ download: Download, _ look: ExistingLook) {
        guard !isSuspended else { return }
        guard let source = download.source else { return openOrConnect(download) }
        download.look = look
        sendFirst(download, to: source, asked: nil)
    }

    /// Compares the existing file with a response's head; false if the response must be handled like any other.
    func isJudged(_ download: Download, _ exchange: Exchange, _ head: ResponseHead, _ look: ExistingLook) -> Bool {
        switch look.file.verdict(head, evidence: exchange.transfer.request.codingEvidence) {
        case .none: return false
        case .unchanged(let why):
            recordTimes(download, exchange)
            dropExchange(download)
            keepExisting(download, look.found, why, look.file.entity ?? Entity(head, totalByteCount: nil))
        case .askForLength:
            recordTimes(download, exchange)
            dropExchange(download)
            var look = look
            look.file.isAskedForLength = true
            ask(download, look)
        case .different:
            download.otherFile = look.found
            // If nothing was received before, the response is the beginning of the download.
            if download.partial.heldRanges.isEmpty, download.record.partial == nil {
                download.look = nil
                return false
            }
            recordTimes(download, exchange)
            dropExchange(download)
            download.look = nil
            openOrConnect(download)
        }
        return true
    }

    /// The existing file is the right one: nothing is downloaded, and received bytes are not needed.
    private func keepExisting(
        _ download: Download, _ found: ExaminedFile, _ why: TransferOrigin.Why, _ entity: Entity?
    ) {
        stop(download)
        countingLosses(of: download) {
            download.record.wastedByteCount += download.partial.heldRanges.byteCount
            closeFile(download)
            discardPartial(download)
            download.partial.setRanges(ByteRangeSet(0, found.byteCount))
        }
        var entity = entity ?? Entity()
        entity.totalByteCount = found.byteCount
        download.record.entity = entity
        download.record.contentType = entity.contentType
        download.record.transfer = TransferOrigin(mode: .unchanged, offset: 0, why: why)
        download.record.isLengthVerified = true
        download.record.failure = nil
        download.record.failureCount = 0
        change(download, to: .completed)
    }

    /// The finished file found another file with its name: replaces that if it is the file that was already found to be
    /// another one.
    func replaceOther(_ download: Download, _ file: OpenFile, _ refusal: Result<PublishedFile, FileError>) {
        guard let path = download.record.path else { return published(download, refusal) }
        submit(.examine(path: path, cancellation: CancellationFlag())) { [self] outcome in
            guard case .success(let found?) = outcome, found == download.otherFile else {
                return published(download, refusal)
            }
            publish(download, file, mode: .replace)
        }
    }
}

extension DownloadRecord {
    /// True if the file is the one that this download finished, unchanged.
    fileprivate func isFile(_ found: ExaminedFile) -> Bool {
        guard let finished, let modified = OptionsText.fileModifiedNanoseconds(optionsText) else { return false }
        return finished.identity.matchesAcrossMounts(found.identity) && finished.byteCount == found.byteCount
            && modified == found.modifiedNanoseconds
    }
}
