package import Core
internal import Curl
internal import Platform
internal import Store

/// The changes of an `update`; nil members stay unchanged.
package struct DownloadUpdate: Sendable {
    package enum Metadata: Sendable {
        case set(String)
        case clear
    }
    package var url: String?
    /// Replaces all headers.
    package var headers: [HeaderField]?
    package var priority: Int64?
    package var metadata: Metadata?

    package init(
        url: String? = nil, headers: [HeaderField]? = nil, priority: Int64? = nil, metadata: Metadata? = nil
    ) {
        self.url = url
        self.headers = headers
        self.priority = priority
        self.metadata = metadata
    }
}

/// `update`: another URL for the same file, headers, priority or metadata.
extension DownloadEngine {
    /// Changes a download that is not completed or canceled; answers when the record is durable.
    ///
    /// A new URL or new headers end a wait and begin a new request; received bytes are kept if size and validator of
    /// the new response match.
    package func update(id: String, _ update: DownloadUpdate, reply: @escaping Reply<DownloadSnapshot>) {
        pipeline.append(
            .run { [self] in
                if isClosed { return answer { reply(.failure(.shuttingDown)) } }
                var source: NewSource?
                if let url = update.url {
                    do throws(URLError) {
                        source = NewSource(try URLParser.separate(url), givenURL: url)
                    } catch {
                        return answer { reply(.failure(.unsupportedURL(message: error.message))) }
                    }
                }
                pipeline.block()
                find(id) { [self] result in
                    switch result {
                    case .success(let download): apply(update, source, to: download, reply)
                    case .failure(let error):
                        answer { reply(.failure(error)) }
                        unblock()
                    }
                }
            })
    }

    /// Finds a download that may be updated, and takes it over if nobody owns it.
    private func find(_ id: String, then body: @escaping (Result<Download, EngineError>) -> Void) {
        lookUp(id) { [self] found in
            switch found {
            case .success(.held(let download)):
                body(updatable(download.record).map { _ in download })
            case .success(.stored(let loaded)) where loaded.ownership == .other:
                body(.failure(EngineError(lockedElsewhere: loaded)))
            case .success(.stored(let loaded)):
                if case .failure(let error) = updatable(loaded.record) { return body(.failure(error)) }
                adopt(id) { [self] adopted in body(adopted.map(hold)) }
            case .failure(let error): body(.failure(error))
            }
        }
    }

    private func updatable(_ record: DownloadRecord) -> Result<Void, EngineError> {
        switch record.state {
        case .completed, .canceled: .failure(.notUpdatable(id: record.id, state: record.state))
        case .queued, .active, .waiting, .paused, .failed: .success(())
        }
    }

    private func apply(
        _ update: DownloadUpdate, _ source: NewSource?, to download: Download,
        _ reply: @escaping Reply<DownloadSnapshot>
    ) {
        // Each update has a revision of its own.
        sealRevision()
        let isNewURL = source.map { set($0, of: download) } ?? false
        let isNewSource = isNewURL || update.headers != nil
        if let headers = update.headers {
            download.headers = headers
            let userInfo = URLUserInfo.kept(in: download.record.headersText)
            download.record.headersText = URLUserInfo.keeping(userInfo, in: OptionsText.encode(headers))
        }
        if let priority = update.priority {
            download.record.priority = priority
            queue.reprioritize(download.id, priority)
        }
        switch update.metadata {
        case .set(let text): download.record.metadataText = text
        case .clear: download.record.metadataText = nil
        case nil: break
        }
        download.record.updatedAtMilliseconds = unixMilliseconds()
        markDirty(download)
        switch download.record.state {
        case .waiting where isNewSource: requeue(download, reply)
        case .queued where isNewURL: requeue(download, reply)
        case .active where isNewURL && !download.isTransferOver:
            stop(download)
            whenQuiet(download) { [self] in requeue(download, reply) }
            limitQuietWait(download, nanoseconds: Self.quietLimitNanoseconds)
        default:
            answerUpdate(download, reply)
            unblock()
        }
    }

    /// Sets another URL, or other credentials for it; false if neither is new.
    ///
    /// Credentials from a URL stay with its origin until it gets others; an empty userinfo (`//@`) removes them.
    private func set(_ source: NewSource, of download: Download) -> Bool {
        let known = URLUserInfo.kept(in: download.record.headersText)
        let isSameOrigin = source.parsed.origin == download.source?.origin
        let userInfo = source.userInfo ?? (isSameOrigin && !source.dropsUserInfo ? known : nil)
        let isNewURL = source.url != download.record.url
        if isNewURL {
            // The redirects of the old URL say nothing about the new one.
            download.earlierLocation = nil
            download.record.finalURL = nil
        }
        download.record.url = source.url
        download.source = source.parsed
        download.userInfo = userInfo.flatMap { URLParser.credentials($0) }
        download.record.headersText = URLUserInfo.keeping(userInfo, in: download.record.headersText)
        return isNewURL || userInfo != known
    }

    /// Queues it for a request with its new URL.
    private func requeue(_ download: Download, _ reply: @escaping Reply<DownloadSnapshot>) {
        queue.leave(download.id)
        let wasQueued = download.record.state == .queued
        if !wasQueued { change(download, to: .queued, isTold: false) }
        answerUpdate(download, reply)
        enqueue(download)
        unblock()
    }

    /// Queues the answer and the event; requests behind this one may begin after that alone.
    private func answerUpdate(_ download: Download, _ reply: @escaping Reply<DownloadSnapshot>) {
        let snapshot = snapshot(of: download)
        if download.record.state.isFinal {
            // A failed download was taken over only for the change.
            download.record.owner = nil
            markDirty(download) { [self] isSaved in
                if isSaved, downloads[download.id] === download { downloads[download.id] = nil }
            }
        }
        answer { [self] in
            if download.isUnsaved {
                return reply(.failure(.storageFailure(message: "the record could not be saved")))
            }
            reply(.success(asCommitted(snapshot)))
        }
        announce(snapshot, of: download, isUpdate: true)
    }
}

/// A new URL for a download.
private struct NewSource {
    let parsed: ParsedURL
    let url: String
    let userInfo: String?
    /// The URL has an `@` with nothing before it.
    let dropsUserInfo: Bool

    init(_ parts: (parsed: ParsedURL, url: String, userInfo: String?), givenURL: String) {
        parsed = parts.parsed
        url = parts.url
        userInfo = parts.userInfo
        dropsUserInfo = parts.userInfo == nil && parts.url != givenURL
    }
}
