internal import Core
internal import Engine
internal import JSON
internal import RPC

extension MethodDescription {
    static let update = MethodDescription(
        name: "update",
        summary: "Changes a download that goes on: another source for the same bytes, its priority, its metadata.",
        kind: .change,
        parameters: [
            Parameter.oneID,
            Member(
                "url",
                Parameter.url,
                "Where to go on; the bytes held are kept if size and validator agree."
            ),
            Member("headers", .nullable(Parameter.headers), "All request headers from now on; null: none."),
            Member("priority", .integer(Limits.priority), "Higher goes first."),
            Member(
                "metadata",
                .nullable(.anyObject(maxByteCount: Limits.metadataByteCount)),
                "Kept for the client; null: nothing."
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
