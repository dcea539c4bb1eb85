internal import Core
internal import Engine
internal import JSON
internal import RPC

extension MethodDescription {
    static let subscribe = MethodDescription(
        name: "subscribe",
        summary: "Asks for events besides those of the session's own downloads.",
        kind: .change,
        parameters: [
            Member(
                "events",
                .array(of: .component(Words.eventName), counts: 1...2),
                "Which.",
                defaultValue: ["changed", "progress"]
            ),
            Member(
                "ids", Parameter.ids, "Of which downloads, other processes' too; without it, of all of this process."),
            Member(
                "progressIntervalMs", Parameter.progressIntervalMs,
                "How often at most; without it what initialize or configure said.",
                initialValue: .integer(Parameter.progressIntervalMilliseconds)),
        ],
        isAnswerSmall: true,
        resultName: "subscribed",
        result: .component(
            Component(
                "SubscribeResult", "The answer to subscribe.",
                .object(
                    [
                        .always("subscription", .text, "What unsubscribe takes."),
                        .always("session", .text, "Whose seq it is."),
                        .always("seq", .count, "Of the last event before the answer."),
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
                    "Too many subscriptions at a time.",
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
            Member("subscription", .string(TextRule(1...64)), "What subscribe answered.", isRequired: true)
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
