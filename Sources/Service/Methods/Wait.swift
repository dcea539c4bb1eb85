internal import Core
internal import Engine
internal import JSON
internal import Platform
internal import RPC

extension MethodDescription {
    static let wait = MethodDescription(
        name: "wait",
        summary: "Answers when downloads are final, or settled; the only request that takes long.",
        kind: .wait,
        parameters: Parameter.target("All downloads that this session started or resumed.") + [
            Member(
                "until",
                .component(Words.waitGoal),
                "final: completed, failed or canceled; settled: also paused, or waiting until the user acts.",
                defaultValue: "final"
            ),
            Member(
                "timeoutMs", .integer(0...31_536_000_000), "When to answer at the latest; no limit if left out."
            ),
            Member(
                "workDoneToken",
                Parameter.token,
                "Token for $/progress notifications about the wait."
            ),
        ],
        exactlyOneOf: ["id", "ids", "all"],
        resultName: "outcome",
        result: .component(Results.wait),
        errors: [.downloadNotFound, .limitExceeded, .storageFailure, .requestCancelled],
        handle: waitForDownloads
    )
}

private func waitForDownloads(
    _ session: Session,
    _ params: JSONObject,
    _ call: Call,
    _ engine: isolated DownloadEngine
) throws(RPCError) {
    if call.slot != nil { throw .invalidRequest("wait must not be in a batch: its answer would delay the others.") }
    let target = try DownloadTarget(params)
    let goal = params["until"]?.string.flatMap(Wait.Goal.init) ?? .final
    let deadline = params["timeoutMs"]?.integer.map { Timespan(milliseconds: $0).after(monotonicNanoseconds()) }
    if session.waits.count >= WaitList.maxCount {
        throw .limitExceeded("Too many waits at the same time.", name: "waits", maximum: WaitList.maxCount)
    }
    // Downloads that earlier requests start count for `all`.
    engine.afterEarlierRequests {
        let ids: [String]
        var reached: [String: DownloadState] = [:]
        switch target {
        case .one(let id): ids = [id]
        case .several(let several): ids = several
        case .all:
            ids = session.downloads.entries.keys.sorted()
            reached = session.downloads.finished
        }
        if session.waits.idCount + ids.count > WaitList.maxIDCount {
            let message = "Too many downloads are waited for at the same time."
            return session.fail(
                call, .limitExceeded(message, name: "waitedIds", maximum: WaitList.maxIDCount))
        }
        var isSingle = false
        if case .one = target { isSingle = true }
        let wait = Wait(
            call: call,
            goal: goal,
            ids: ids,
            isSingle: isSingle,
            deadline: deadline,
            token: params["workDoneToken"]
        )
        wait.reached = reached
        session.begin(wait, engine)
    }
}
