internal import Core
internal import Engine
internal import JSON
internal import Platform
internal import RPC

extension MethodDescription {
    static let info = MethodDescription(
        name: "info",
        summary: "Returns version, capabilities and limits of the service.",
        kind: .read,
        resultName: "info",
        result: .component(Components.info),
        handle: { session, _, call, engine throws(RPCError) in session.answer(call, session.encodedInfo()) }
    )

    static let ping = MethodDescription(
        name: "ping",
        summary: "Does nothing; an answer shows that the service runs.",
        kind: .read,
        isAnswerSmall: true,
        resultName: "nothing",
        result: .component(Components.nothing),
        handle: { session, _, call, engine throws(RPCError) in session.answer(call, [:]) }
    )

    static let discover = MethodDescription(
        name: "rpc.discover",
        summary: "Returns the OpenRPC document.",
        kind: .read,
        resultName: "document",
        result: .component(Component("OpenRpcDocument", "This document.", .object([], isClosed: false))),
        handle: { session, _, call, engine throws(RPCError) in
            session.answer(call, OpenRPC.document(version: session.configuration.version))
        }
    )
}

extension Session {
    /// The answer to `info` and `initialize`.
    func encodedInfo() -> JSONObject {
        [
            "name": "towline",
            "version": .string(configuration.version),
            "protocol": .string(Session.protocolVersion),
            "capabilities": [
                "checksums": .array(Checksum.Algorithm.allCases.map { .string($0.rawValue) }),
                "ifExists": .array(IfExists.allCases.map { .string($0.rawValue) }),
                "onChange": .array(OnChange.allCases.map { .string($0.rawValue) }),
                "resumePolicies": .array(ResumePolicy.allCases.map { .string($0.rawValue) }),
                "schemes": ["http", "https"],
                "events": ["changed", "removed", "progress", "eventsLost"],
            ],
            "limits": .object(Session.encodedLimits),
            "stateDirectory": .string(configuration.stateDirectory),
            "libraries": .object(JSONObject(configuration.libraries.map { ($0.name, .string($0.version)) })),
            "processId": .integer(configuration.processID),
            "uptimeMs": .integer((monotonicNanoseconds() - startedAt) / 1_000_000),
            "session": .string(name),
            "serverInfo": ["name": "towline", "version": .string(configuration.version)],
        ]
    }

    /// The version of the protocol, not of this program.
    static let protocolVersion = "1.0"

    /// The limits for what a client may send, by name.
    static let encodedLimits: JSONObject = [
        "messageBytes": .integer(Int64(FrameLimits.messageByteCount)),
        "urlBytes": .integer(Int64(Limits.urlByteCount)),
        "pathBytes": .integer(Int64(Limits.pathByteCount)),
        "headersBytes": .integer(Int64(Limits.requestHeadersByteCount)),
        "headers": .integer(Int64(Parameter.maxHeaderCount)),
        "userAgentBytes": .integer(Int64(Limits.userAgentByteCount)),
        "metadataBytes": .integer(Int64(Limits.metadataByteCount)),
        "fileNameBytes": .integer(Int64(maxFileNameByteCount)),
        "resumeDataBytes": .integer(Int64(Limits.resumeDataByteCount)),
        "idBytes": .integer(Int64(Limits.downloadIDByteCount)),
        "requestIdBytes": .integer(Int64(Limits.requestIDByteCount)),
        "ids": .integer(Int64(Parameter.maxIDCount)),
        "nesting": .integer(Int64(Limits.nestingDepth)),
        "elements": .integer(Int64(JSONLimits.elementCount)),
        "batch": .integer(Int64(Limits.batchCount)),
        "subscriptions": .integer(Int64(Subscriptions.maxCount)),
        "waits": .integer(Int64(WaitList.maxCount)),
        "waitedIds": .integer(Int64(WaitList.maxIDCount)),
    ]
}
