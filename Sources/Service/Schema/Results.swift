internal import Core
internal import Engine

/// Answers of several shapes, or with objects in them.
enum Results {
    static let command = Component(
        "CommandResult", "For one id, or for several.", .anyOf([.component(commandOutcome), .component(bulkOutcome)]))

    private static let commandOutcome = Component(
        "CommandOutcome",
        "What became of one download.",
        .object(
            [
                .always("download", .component(Components.download), "As it is now."),
                Components.answerSeq,
                .always("changed", .boolean, "False when it was so before."),
            ],
            isClosed: false
        )
    )

    private static let bulkOutcome = Component(
        "BulkOutcome",
        "What became of several downloads.",
        .object(
            [
                .always("matched", .count, "Downloads that were meant."),
                .always("changed", .count, "Downloads that were not so before."),
                .always(
                    "errors",
                    .array(of: .component(Components.targetError), counts: 0...Limits.bulkErrorCount),
                    "The first of those that could not be changed."
                ),
            ],
            isClosed: false
        )
    )

    static let wait = Component(
        "WaitResult", "For one id, or for several.", .anyOf([.component(waitOutcome), .component(waitCounts)]))

    private static let timedOut = Member.always("timedOut", .boolean, "True when the time was up first.")

    private static let waitOutcome = Component(
        "WaitOutcome",
        "How one download is.",
        .object(
            [.always("download", .component(Components.download), "As it is now."), Components.answerSeq, timedOut],
            isClosed: false
        )
    )

    private static let waitCounts = Component(
        "WaitCounts",
        "How several downloads are.",
        .object(
            [.always("counts", .component(stateCounts), "How many are in which state."), timedOut], isClosed: false)
    )

    private static let stateCounts = Component(
        "StateCounts",
        "Downloads by state; more states may come.",
        .object(DownloadState.allCases.map { .always($0.rawValue, .count, "") }, isClosed: false)
    )

    static let settings = Component(
        "Settings",
        "What is in force.",
        .object(
            [
                .always("maxActive", .count, "Downloads that run at a time."),
                .always("maxActivePerHost", .count, "Of those, from one host."),
                .always("progressIntervalMs", .count, "How often progress is told at most."),
                .always("defaults", .component(defaultsInForce), "What start takes where it says nothing."),
            ],
            isClosed: false
        )
    )

    private static let defaultsInForce = Component(
        "DefaultsInForce",
        "What start takes where it says nothing.",
        .object(
            Parameter.defaults.map {
                $0.name == "userAgent"
                    ? .always($0.name, .nullable($0.schema), $0.description)
                    : .always($0.name, $0.schema, $0.description)
            },
            isClosed: false
        )
    )
}
