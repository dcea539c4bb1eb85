internal import Core
internal import Engine
internal import JSON
internal import RPC

extension MethodDescription {
    static let update = MethodDescription(
        name: "update",
        summary: "Changes an unfinished download: URL of the same file, headers, priority, metadata.",
        kind: .change,
        parameters: [
            Parameter.oneID,
            Member(
                "url",
                Parameter.url,
                "New URL of the same file; received bytes are kept if size and validator match."
            ),
            Member("headers", .nullable(Parameter.headers), "Replaces all request headers; null: none."),
            Member("priority", .integer(Limits.priority), "Higher starts first."),
            Member(
                "metadata",
                .nullable(.anyObject(maxByteCount: Limits.metadataByteCount)),
                "The client's own object, stored with the download; null deletes it."
            ),
        ],
        resultName: "updated",
        result: .component(
            Component(
                "UpdateResult", "The answer to update.",
                .object(
                    [.always("download", .component(Components.download), "As it is now."), Components.answerSeq],
                    isClosed: false))),
        errors: [
            .downloadNotFound, .invalidState, .unsupportedUrl, .permissionDenied, .storageFailure, .lockedElsewhere,
        ],
        handle: updateDownload
    )
}

private func updateDownload(
    _ session: Session,
    _ params: JSONObject,
    _ call: Call,
    _ engine: isolated DownloadEngine
) throws(RPCError) {
    var update = DownloadUpdate(url: params["url"]?.string, priority: params["priority"]?.integer)
    if let headers = params["headers"] {
        var options = DownloadOptions()
        if let object = headers.object { try options.apply(headers: object, at: "headers") }
        update.headers = options.headers
    }
    if let metadata = params["metadata"] {
        let text = String(decoding: metadata.serialized(), as: UTF8.self)
        update.metadata = metadata.isNull ? .clear : .set(text)
    }
    engine.update(id: params["id"]?.string ?? "", update) { result in
        switch result {
        case .failure(let error): session.fail(call, RPCError(error))
        case .success(let download): session.answer(call, showing: download)
        }
    }
}
