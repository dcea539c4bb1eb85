internal import Core
internal import Engine
internal import JSON
internal import RPC

extension MethodDescription {
    static let pause = command(
        .pause,
        "Pauses downloads; received bytes are kept.",
        all: "All downloads that are not in a final state."
    )
    static let resume = command(
        .resume,
        "Resumes paused, waiting or failed downloads.",
        all: "All downloads that are not in a final state."
    )
    static let cancel = command(
        .cancel,
        "Cancels downloads; they cannot be resumed.",
        all: "All downloads that are not in a final state.",
        also: [Member("deletePartial", .boolean, "Delete the partial file.", defaultValue: true)]
    )

    private static func command(
        _ command: DownloadCommand,
        _ summary: String,
        all: String,
        also: [Member] = []
    ) -> MethodDescription {
        MethodDescription(
            name: command.wireName,
            summary: summary,
            kind: .change,
            parameters: Parameter.target(all) + also,
            exactlyOneOf: ["id", "ids", "all"],
            resultName: "outcome",
            result: .component(Results.command),
            errors: [.downloadNotFound, .invalidState, .permissionDenied, .storageFailure, .lockedElsewhere],
            handle: { session, params, call, engine throws(RPCError) in
                let target = try DownloadTarget(params)
                let deletesPartial = params["deletePartial"]?.bool ?? true
                engine.perform(command, on: target, deletesPartial: deletesPartial) { result in
                    switch result {
                    case .failure(let error): session.fail(call, RPCError(error))
                    case .success(let answer):
                        session.answer(call, answer)
                        if command == .resume { session.followResumed(answer, engine) }
                    }
                }
            }
        )
    }
}

extension DownloadTarget {
    /// Reads `id`, `ids` or `all`; exactly one of them must be given.
    init(_ params: JSONObject) throws(RPCError) {
        let given = ["id", "ids", "all"].filter { params[$0] != nil }
        guard given.count == 1 else {
            throw .parameter("", "expected exactly one of id, ids and all, got \(given.count)")
        }
        if let id = params["id"]?.string {
            self = .one(id)
        } else if let ids = params["ids"]?.array {
            self = .several(ids.compactMap(\.string))
        } else if params["all"]?.bool == true {
            self = .all
        } else {
            throw .parameter("all", "expected true, got false")
        }
    }
}

extension Session {
    fileprivate func answer(_ call: Call, _ outcome: CommandAnswer) {
        switch outcome {
        case .one(let download, let isChanged):
            answer(call, showing: download, ["changed": .bool(isChanged)])
        case .several(let matched, let changed, let errors):
            let counts: JSONObject = [
                "matched": .integer(Int64(matched)),
                "changed": .integer(Int64(changed)),
                "errors": .array(
                    errors.prefix(Limits.bulkErrorCount).map { entry in
                        ["id": .string(entry.id), "error": .object(RPCError(entry.error).json)]
                    }
                ),
            ]
            answer(call, counts)
        }
    }
}

extension DownloadCommand {
    /// The method for this command.
    var wireName: String {
        switch self {
        case .pause: "pause"
        case .resume: "resume"
        case .cancel: "cancel"
        case .remove: "remove"
        }
    }
}
