internal import Core
internal import Engine
internal import JSON
internal import RPC

extension MethodDescription {
    /// Options that `initialize` reads, at the top level or in `initializationOptions`; it ignores all others.
    fileprivate static let initializeOptions: [Member] = [
        Member(
            "events", Parameter.eventSelection, "Which events to send for downloads of this session.",
            defaultValue: "all"),
        Member(
            "progressIntervalMs", Parameter.progressIntervalMs,
            "Shortest time between two progress events of a download.",
            defaultValue: .integer(Parameter.progressIntervalMilliseconds)),
        Member(
            "resumeInterrupted",
            .boolean,
            "Resume downloads that an exited process left interrupted.",
            defaultValue: false
        ),
        Member(
            "processId",
            .nullable(.integer(-1...Int64(Int32.max))),
            "Process id of the host. If it runs now, its exit counts as the host's exit."
        ),
    ]

    static let initialize = MethodDescription(
        name: "initialize",
        summary: "Begins a session as in the Language Server Protocol; optional.",
        kind: .lifecycle,
        parameters: initializeOptions + [
            Member("initializationOptions", .anything, "Where editors put options for the service.")
        ],
        takesUnknownParameters: true,
        resultName: "info",
        result: .component(Components.info),
        handle: initializeSession
    )
}

private func initializeSession(
    _ session: Session,
    _ params: JSONObject,
    _ call: Call,
    _ engine: isolated DownloadEngine
) throws(RPCError) {
    if session.isInitialized { throw .invalidRequest("initialize was already received.") }
    let nested: JSONObject
    do throws(ParameterError) {
        nested = try Schema.checked(
            params["initializationOptions"]?.object ?? [:],
            members: MethodDescription.initializeOptions,
            isClosed: false,
            at: "params.initializationOptions"
        )
    } catch {
        throw RPCError(error)
    }
    session.life.initialize()
    func option(_ name: String) -> JSONValue? { nested[name] ?? params[name] }
    if let text = option("events")?.string, let selection = EventSelection(rawValue: text) {
        session.eventSelection = selection
    }
    if let interval = option("progressIntervalMs")?.integer { session.progressIntervalMilliseconds = interval }
    if let host = option("processId")?.integer.flatMap(HostProcess.init) { session.watch.watch(host) }
    if option("resumeInterrupted")?.bool == true {
        session.resumeInterrupted(engine) { session.answerInOrder(call, engine) { session.encodedInfo() } }
    } else {
        session.answerInOrder(call, engine) { session.encodedInfo() }
    }
}
