internal import Core
internal import Engine
internal import JSON
internal import RPC

extension MethodDescription {
    static let subscribe = MethodDescription(
        name: "subscribe",
        summary: "Requests events of downloads that this session did not start or resume.",
        kind: .change,
        parameters: [
            Member(
                "events",
                .array(of: .component(Words.eventName), counts: 1...2),
                "Names of the events.",
                defaultValue: ["changed", "progress"]
            ),
            Member(
                "ids", Parameter.ids, "Downloads, also of other processes; if left out, all of this process."),
            Member(
                "progressIntervalMs", Parameter.progressIntervalMs,
                "Shortest time between two progress events of a download; if left out, that of initialize or configure.",
                initialValue: .integer(Parameter.progressIntervalMilliseconds)),
        ],
        isAnswerSmall: true,
        resultName: "subscribed",
        result: .component(
            Component(
                "SubscribeResult", "The answer to subscribe.",
                .object(
                    [
                        .always("subscription", .text, "Pass it to unsubscribe."),
                        .always("session", .text, "The session that seq belongs to."),
                        .always("seq", .count, "seq of the last event before the answer."),
                    ],
                    isClosed: false
                ))),
        errors: [.limitExceeded],
        handle: { session, params, call, engine throws(RPCError) in
            let events = params["events"]?.array?.compactMap(\.string) ?? ["changed", "progress"]
            let subscription = Subscriptions.Subscription(
                wantsChanged: events.contains("changed"),
                wantsProgress: events.contains("progress"),
                ids: params["ids"]?.array.map { Set($0.compactMap(\.string)) },
                progressIntervalMilliseconds: params["progressIntervalMs"]?.integer
                    ?? session.progressIntervalMilliseconds
            )
            guard let name = session.subscriptions.add(subscription) else {
                throw .limitExceeded(
                    "Too many subscriptions at the same time.",
                    name: "subscriptions",
                    maximum: Subscriptions.maxCount
                )
            }
            if subscription.ids != nil { session.poller.hurry() }
            session.answerInOrder(call, engine) {
                ["subscription": .string(name), "session": .string(session.name), "seq": .integer(session.seq)]
            }
        }
    )

    static let unsubscribe = MethodDescription(
        name: "unsubscribe",
        summary: "Ends a subscription.",
        kind: .change,
        parameters: [
            Member("subscription", .string(TextRule(1...64)), "As returned by subscribe.", isRequired: true)
        ],
        isAnswerSmall: true,
        resultName: "nothing",
        result: .component(Components.nothing),
        handle: { session, params, call, engine throws(RPCError) in
            guard session.subscriptions.remove(params["subscription"]?.string ?? "") else {
                throw .parameter("subscription", "there is no such subscription")
            }
            session.answerInOrder(call, engine) { [:] }
        }
    )
}
