internal import Engine
internal import JSON
internal import RPC

extension NotificationDescription {
    static let changed = NotificationDescription(
        name: "changed",
        summary: "A download's state, reason or phase changed, its path became known, or it was updated.",
        direction: .toClient,
        parameters: [
            .always("session", .text, "Whose seq it is."),
            .always("seq", .count, "Grows with every changed and removed event of the session."),
            .always("download", .component(Components.download), "As it is now."),
        ]
    )

    static let removed = NotificationDescription(
        name: "removed",
        summary: "A download's record was removed.",
        direction: .toClient,
        parameters: [
            .always("session", .text, "Whose seq it is."),
            .always("seq", .count, "Grows with every changed and removed event of the session."),
            .always("id", .text, "Which."),
            .always("revision", .nullable(.count), "That of the removal; null when another process removed it."),
        ]
    )

    static let progress = NotificationDescription(
        name: "progress",
        summary: "Bytes came; told at most once per interval, and not after the final changed.",
        direction: .toClient,
        parameters: [
            .always("session", .text, "Whose seq it is."),
            .always("seq", .count, "Of the last numbered event before it."),
        ] + progressMembers.compactMap { name in Components.downloadMembers.first { $0.name == name } }
    )

    private static let progressMembers = [
        "id", "path", "phase", "attempt", "receivedBytes", "contiguousBytes", "totalBytes", "bytesPerSecond", "etaMs",
        "connections",
    ]

    static let eventsLost = NotificationDescription(
        name: "eventsLost",
        summary: "The client read too slowly and these changed events are lost: list again.",
        direction: .toClient,
        parameters: [
            .always("session", .text, "Whose seq it is."),
            .always("fromSeq", .count, "The first that is lost."),
            .always("toSeq", .count, "The last that is lost."),
        ]
    )

    static let workDoneProgress = NotificationDescription(
        name: "$/progress",
        summary: "How a wait with a workDoneToken goes, as in the Language Server Protocol.",
        direction: .toClient,
        parameters: [
            .always(
                "token", Parameter.token, "The token."),
            .always(
                "value",
                .component(
                    Component(
                        "WorkDoneProgressValue", "How a wait goes.",
                        .object(
                            [
                                .always("kind", .component(Words.workDoneKind), "Where it stands."),
                                Member("title", .text, "With begin."),
                                Member("message", .text, "In words."),
                                Member("percentage", .integer(0...100), "If the length is known."),
                                Member(
                                    "cancellable", .boolean,
                                    "With begin: $/cancelRequest and window/workDoneProgress/cancel end the wait."),
                            ],
                            isClosed: false
                        ))),
                "How it goes."
            ),
        ]
    )

    static let initialized = NotificationDescription(
        name: "initialized",
        summary: "The client has read the answer to initialize; without effect.",
        direction: .toService,
        takesUnknownParameters: true,
        handle: { _, _, _ in }
    )

    static let exit = NotificationDescription(
        name: "exit",
        summary: "Ends the process, once background downloads have settled: with 0 after shutdown, else with 1.",
        direction: .toService,
        takesUnknownParameters: true,
        handle: { session, _, engine in
            session.actInOrder(session.life.exit(hasBackground: session.hasBackground), engine)
        }
    )

    static let cancelRequest = NotificationDescription(
        name: "$/cancelRequest",
        summary: "The client does not want the answer to a wait any more; it is answered with an error at once.",
        direction: .toService,
        parameters: [
            Member(
                "id",
                .component(Envelope.requestID),
                "The request's id.",
                isRequired: true
            )
        ],
        takesUnknownParameters: true,
        handle: { session, params, engine in
            // A wait that was read just before may not have begun yet.
            guard let value = params["id"], let id = try? RequestID(value) else { return }
            engine.afterEarlierRequests { session.cancelWait(requestID: id) }
        }
    )

    static let cancelWorkDone = NotificationDescription(
        name: "window/workDoneProgress/cancel",
        summary: "The client does not want the answer to the wait with this workDoneToken; as $/cancelRequest.",
        direction: .toService,
        parameters: [Member("token", Parameter.token, "The wait's workDoneToken.", isRequired: true)],
        takesUnknownParameters: true,
        handle: { session, params, engine in
            guard let token = params["token"] else { return }
            engine.afterEarlierRequests { session.cancelWaits(workDoneToken: token) }
        }
    )
}
