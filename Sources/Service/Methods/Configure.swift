internal import Core
internal import Engine
internal import JSON
internal import RPC

extension MethodDescription {
    static let configure = MethodDescription(
        name: "configure",
        summary: "Sets what holds for this process, and tells what is in force.",
        kind: .change,
        parameters: [
            Member(
                "maxActive", .integer(1...10_000), "Downloads that run at a time.",
                initialValue: .integer(Int64(EngineSettings().maxActive))
            ),
            Member(
                "maxActivePerHost", .integer(1...10_000), "Of those, from one host.",
                initialValue: .integer(Int64(EngineSettings().maxActivePerHost))
            ),
            Member(
                "progressIntervalMs", Parameter.progressIntervalMs, "How often progress is told at most.",
                initialValue: .integer(Parameter.progressIntervalMilliseconds)
            ),
            Member(
                "defaults",
                .component(
                    Component(
                        "Defaults", "What start takes where it says nothing.",
                        .object(Parameter.defaults, isClosed: true))),
                "What start takes where it says nothing; downloads that exist keep theirs."
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
