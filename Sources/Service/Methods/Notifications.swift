internal import Engine
internal import JSON
internal import RPC

extension NotificationDescription {
    static let changed = NotificationDescription(
        name: "changed",
        summary: "A download's state, reason or phase changed, its path became known, or it was updated.",
        direction: .toClient,
        parameters: [
            .always("session", .text, "The session that seq belongs to."),
            .always("seq", .count, "Number of the event in its session: changed and removed are counted."),
            .always("download", .component(Components.download), "As it is now."),
        ]
    )

    static let removed = NotificationDescription(
        name: "removed",
        summary: "A download's record was removed.",
        direction: .toClient,
        parameters: [
            .always("session", .text, "The session that seq belongs to."),
            .always("seq", .count, "Number of the event in its session: changed and removed are counted."),
            .always("id", .text, "Id of the download."),
            .always("revision", .nullable(.count), "Revision of the removal; null if another process removed it."),
        ]
    )

    static let progress = NotificationDescription(
        name: "progress",
        summary: "Bytes were received; sent at most once per interval, and never after the final changed.",
        direction: .toClient,
        parameters: [
            .always("session", .text, "The session that seq belongs to."),
            .always("seq", .count, "seq of the last changed or removed event before this one."),
        ] + progressMembers.compactMap { name in Components.downloadMembers.first { $0.name == name } }
    )

    private static let progressMembers = [
        "id", "path", "phase", "attempt", "receivedBytes", "contiguousBytes", "totalBytes", "bytesPerSecond", "etaMs",
        "connections",
    ]

    static let eventsLost = NotificationDescription(
        name: "eventsLost",
        summary: "The client read too slowly and these events were dropped: call list.",
        direction: .toClient,
        parameters: [
            .always("session", .text, "The session that seq belongs to."),
            .always("fromSeq", .count, "First dropped event."),
            .always("toSeq", .count, "Last dropped event."),
        ]
    )

    static let workDoneProgress = NotificationDescription(
        name: "$/progress",
        summary: "Progress of a wait with a workDoneToken, as in the Language Server Protocol.",
        direction: .toClient,
        parameters: [
            .always(
                "token", Parameter.token, "The workDoneToken of the wait."),
            .always(
                "value",
                .component(
                    Component(
                        "WorkDoneProgressValue", "Progress of a wait.",
                        .object(
                            [
                                .always("kind", .component(Words.workDoneKind), "Stage of the wait."),
                                Member("title", .text, "Only with begin."),
                                Member("message", .text, "Text for people."),
                                Member("percentage", .integer(0...100), "If the size is known."),
                                Member(
                                    "cancellable", .boolean,
                                    "Only with begin: $/cancelRequest and window/workDoneProgress/cancel end the wait."),
                            ],
                            isClosed: false
                        ))),
                "The progress."
            ),
        ]
    )

    static let initialized = NotificationDescription(
        name: "initialized",
        summary: "The client has read the answer to initialize; has no effect.",
        direction: .toService,
        takesUnknownParameters: true,
        handle: { _, _, _ in }
    )

    static let exit = NotificationDescription(
        name: "exit",
        summary: "Ends the process once background downloads are settled, with status 0 after shutdown, else 1.",
        direction: .toService,
        takesUnknownParameters: true,
        handle: { session, _, engine in
            session.actInOrder(session.life.exit(hasBackground: session.hasBackground), engine)
        }
    )

    static let cancelRequest = NotificationDescription(
        name: "$/cancelRequest",
        summary: "Cancels a wait, which is answered with requestCancelled at once.",
        direction: .toService,
        parameters: [
            Member(
                "id",
                .component(Envelope.requestID),
                "Id of the wait request.",
                isRequired: true
            )
        ],
        takesUnknownParameters: true,
        handle: { session, params, engine in
            // A wait that was read just before may not be registered yet.
            guard let value = params["id"], let id = try? RequestID(value) else { return }
            engine.afterEarlierRequests { session.cancelWait(requestID: id) }
        }
    )

    static let cancelWorkDone = NotificationDescription(
        name: "window/workDoneProgress/cancel",
        summary: "Cancels the wait with this workDoneToken, as $/cancelRequest does.",
        direction: .toService,
        parameters: [Member("token", Parameter.token, "The wait's workDoneToken.", isRequired: true)],
        takesUnknownParameters: true,
        handle: { session, params, engine in
            guard let token = params["token"] else { return }
            engine.afterEarlierRequests { session.cancelWaits(workDoneToken: token) }
        }
    )
}
