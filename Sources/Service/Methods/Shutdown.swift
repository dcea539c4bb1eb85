internal import Engine
internal import JSON
internal import RPC

extension MethodDescription {
    static let shutdown = MethodDescription(
        name: "shutdown",
        summary: "Ends all work; answered when everything is stored on disk.",
        kind: .lifecycle,
        parameters: [
            Member(
                "mode",
                .component(Words.shutdownMode),
                "suspend: stop downloads, except background ones, to resume later; finish: first wait until all are settled; cancel: cancel all.",
                defaultValue: "suspend"
            )
        ],
        isAnswerSmall: true,
        resultName: "nothing",
        result: .component(Component("ShutdownResult", "Null.", .null)),
        handle: { session, params, call, engine throws(RPCError) in
            let mode = params["mode"]?.string.flatMap(ShutdownMode.init) ?? .suspend
            session.shutDown(mode, call, engine)
        }
    )
}

/// What `shutdown` does with downloads that are not final.
enum ShutdownMode: String, CaseIterable, Sendable {
    case suspend
    case finish
    case cancel
}
