internal import Engine
internal import JSON
internal import RPC

extension MethodDescription {
    static let remove = MethodDescription(
        name: "remove",
        summary: "Deletes the record of a download in a final state.",
        kind: .change,
        parameters: [
            Parameter.oneID,
            Member(
                "deleteFile",
                .boolean,
                "Also delete the finished file, if it is still the downloaded one.",
                defaultValue: false
            ),
        ],
        isAnswerSmall: true,
        resultName: "nothing",
        result: .component(Components.nothing),
        errors: [.downloadNotFound, .invalidState, .permissionDenied, .storageFailure, .lockedElsewhere],
        handle: { session, params, call, engine throws(RPCError) in
            let id = params["id"]?.string ?? ""
            engine.remove(id: id, deletesFile: params["deleteFile"]?.bool ?? false) { result in
                switch result {
                case .failure(let error): session.fail(call, RPCError(error))
                case .success: session.answer(call, [:])
                }
            }
        }
    )
}
