internal import Core
internal import Files
internal import Platform
internal import Store

/// How a file gets its name from the response, and which name its partial has until then.
extension DownloadEngine {
    /// How many numbered names are tried for a file, or for its partial.
    static let maxNumber = 100

    /// Gives a download without a path its name from the response, then continues with the waiting steps.
    func settleName(_ download: Download) {
        guard !download.isNaming, let directory = download.record.requestedDirectory else { return }
        download.isNaming = true
        let name =
            download.record.suggestedFileName.map { FileName.sanitized($0) }
            ?? FileName.suggested(contentDisposition: nil, urlPath: "")
        tryName(download, directory: directory, name: name, number: 0)
    }

    /// Tries `name`, then `name (1)` and so on if the download may be renamed.
    private func tryName(_ download: Download, directory: String, name: String, number: Int) {
        let candidate = number == 0 ? name : FileName.numbered(name, number)
        let look = FileRequest.inspect(
            directory: directory, name: candidate, partialName: candidate + FileName.partialSuffix,
            createsDirectories: download.options.createsDirectories)
        submit(look) { [self] outcome in
            if !isRunning(download) {
                download.isNaming = false
                return quieted(download)
            }
            switch outcome {
            case .success(let status): nameInspected(download, directory, name, number, status)
            case .failure(let error) where Self.shorter(name, after: error) != nil:
                tryName(download, directory: directory, name: Self.shorter(name, after: error) ?? name, number: number)
            case .failure(let error):
                download.isNaming = false
                diskFailed(download, error)
            }
        }
    }

    /// The server's name, cut to the limit of the file system; nil if the length was not the problem.
    private static func shorter(_ name: String, after error: FileError) -> String? {
        guard case .tooLong(.name, let maximum) = error.reason, maximum >= 64 else { return nil }
        let room = maximum - FileName.numbered("", maxNumber).utf8.count
        let short = FileName.shortened(name, toByteCount: room)
        return short.utf8.count < name.utf8.count ? short : nil
    }

    private func nameInspected(
        _ download: Download, _ directory: String, _ name: String, _ number: Int, _ status: DestinationStatus
    ) {
        if case .present(let volume) = status.directory { download.volume = volume }
        let path = joined(directory, number == 0 ? name : FileName.numbered(name, number))
        let mayRename = download.record.ifExists == .rename && number < Self.maxNumber
        switch (status.atName, download.record.ifExists) {
        case (.nothing, _), (.regular, .overwrite), (.regular, .skip):
            claim(download, directory, name, number, path, isTaken: status.atName != .nothing)
        case _ where mayRename: tryName(download, directory: directory, name: name, number: number + 1)
        default: nameRefused(download, DownloadFailure(.destinationConflict, "\(path) exists", isRetryable: false))
        }
    }

    private func claim(
        _ download: Download, _ directory: String, _ name: String, _ number: Int, _ path: String, isTaken: Bool
    ) {
        submit(.claimDestination(id: download.id, path: path)) { [self] outcome in
            if download.record.state.isFinal {
                download.isNaming = false
                return quieted(download)
            }
            switch outcome {
            case .success(.saved(let revision)):
                download.record.revision = revision
                download.isNaming = false
                download.record.path = path
                download.record.partialPath = path + FileName.partialSuffix
                markDirty(download)
                announce(snapshot(of: download), of: download, isUpdate: true)
                if isTaken, download.record.ifExists == .skip { return lookFirst(download) }
                // Bytes may have been received meanwhile, or a pause.
                pumpPartial(download)
                quieted(download)
                bodyProgressed(download)
            case .success(.destinationConflict(let id)):
                if download.record.ifExists == .rename, number < Self.maxNumber {
                    return tryName(download, directory: directory, name: name, number: number + 1)
                }
                nameRefused(
                    download,
                    DownloadFailure(
                        .destinationConflict, "the download \(id) already uses \(path)", isRetryable: false,
                        holderID: id))
            case .success(.notOurs), .failure:
                nameRefused(download, DownloadFailure(.storage, "the state could not be saved", isRetryable: true))
            }
        }
    }

    private func nameRefused(_ download: Download, _ failure: DownloadFailure) {
        download.isNaming = false
        countingLosses(of: download) {
            dropExchange(download)
            dropGathered(download)
        }
        // It may have been paused without waiting for its name.
        if isRunning(download) {
            if failure.isRetryable { attemptFailed(download, failure) } else { fail(download, failure) }
        }
        quieted(download)
    }

    /// `ifExists: skip` found a file: it is checked before anything is done with the received bytes.
    private func lookFirst(_ download: Download) {
        countingLosses(of: download) {
            dropExchange(download)
            dropGathered(download)
        }
        download.bodyEnd = nil
        if download.record.state == .active { examineExisting(download) }
        quieted(download)
    }

    /// False after a command or a failure: then the earlier steps are void.
    func isRunning(_ download: Download) -> Bool {
        switch download.record.state {
        case .active, .waiting, .queued: true
        case .paused, .failed, .completed, .canceled: false
        }
    }

    func joined(_ directory: String, _ name: String) -> String {
        directory.hasSuffix("/") ? directory + name : directory + "/" + name
    }
}
