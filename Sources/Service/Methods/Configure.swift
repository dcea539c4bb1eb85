internal import Core
internal import Engine
internal import JSON
internal import RPC

extension MethodDescription {
    static let configure = MethodDescription(
        name: "configure",
        summary: "Changes settings of this process, and returns all of them.",
        kind: .change,
        parameters: [
            Member(
                "maxActive", .integer(1...10_000), "Downloads that are active at the same time.",
                initialValue: .integer(Int64(EngineSettings().maxActive))
            ),
            Member(
                "maxActivePerHost", .integer(1...10_000), "Downloads of one server that are active at the same time.",
                initialValue: .integer(Int64(EngineSettings().maxActivePerHost))
            ),
            Member(
                "progressIntervalMs", Parameter.progressIntervalMs,
                "Shortest time between two progress events of a download.",
                initialValue: .integer(Parameter.progressIntervalMilliseconds)
            ),
            Member(
                "defaults",
                .component(
                    Component(
                        "Defaults", "Defaults for parameters that start leaves out.",
                        .object(Parameter.defaults, isClosed: true))),
                "Defaults for parameters that start leaves out; existing downloads keep theirs."
            ),
        ],
        resultName: "settings",
        result: .component(Results.settings),
        handle: { session, params, call, engine throws(RPCError) in
            var defaults = session.defaults
            if let object = params["defaults"]?.object { try defaults.apply(defaults: object, at: "defaults.") }
            session.defaults = defaults
            if let interval = params["progressIntervalMs"]?.integer {
                session.progressIntervalMilliseconds = interval
                session.nextSweepAt = 0
            }
            var settings = engine.settings
            if let count = params["maxActive"]?.integer { settings.maxActive = Int(count) }
            if let count = params["maxActivePerHost"]?.integer { settings.maxActivePerHost = Int(count) }
            if settings != engine.settings { engine.configure(settings) }
            let result: JSONObject = [
                "maxActive": .integer(Int64(settings.maxActive)),
                "maxActivePerHost": .integer(Int64(settings.maxActivePerHost)),
                "progressIntervalMs": .integer(session.progressIntervalMilliseconds),
                "defaults": .object(defaults.encodedDefaults()),
            ]
            session.answerInOrder(call, engine) { result }
        }
    )
}
