internal import Engine
internal import JSON
internal import RPC

extension MethodDescription {
    static let get = MethodDescription(
        name: "get",
        summary: "Returns one download.",
        kind: .read,
        parameters: [Parameter.oneID],
        resultName: "found",
        result: .component(
            Component(
                "GetResult", "The answer to get.",
                .object(
                    [.always("download", .component(Components.download), "As it is now."), Components.answerSeq],
                    isClosed: false
                ))),
        errors: [.downloadNotFound, .storageFailure],
        handle: { session, params, call, engine throws(RPCError) in
            let seq = session.seq
            engine.get(id: params["id"]?.string ?? "") { result in
                switch result {
                case .failure(let error): session.fail(call, RPCError(error))
                case .success(let download): session.answer(call, showing: download, seq: seq)
                }
            }
        }
    )
}
