internal import Core
internal import Engine
internal import JSON
internal import RPC

extension MethodDescription {
    static let export = MethodDescription(
        name: "export",
        summary: "Returns resume data: start uses it to continue the download in another state directory.",
        kind: .read,
        parameters: [Parameter.oneID],
        resultName: "exported",
        result: .component(
            Component(
                "ExportResult", "The answer to export.",
                .object(
                    [
                        .always(
                            "resumeData",
                            Parameter.resumeData,
                            "Pass it to start unchanged; it contains no header, userinfo or query."
                        )
                    ],
                    isClosed: false
                ))),
        errors: [.downloadNotFound, .invalidState, .limitExceeded, .permissionDenied, .storageFailure],
        handle: { session, params, call, engine throws(RPCError) in
            engine.exportResumeData(id: params["id"]?.string ?? "") { result in
                switch result {
                case .failure(let error): session.fail(call, RPCError(error))
                case .success(let text): session.answer(call, ["resumeData": .string(text)])
                }
            }
        }
    )
}
