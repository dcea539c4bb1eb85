internal import Core
internal import Engine

/// Results with several shapes, or with objects in them.
enum Results {
    static let command = Component(
        "CommandResult", "For one id, or for several.", .anyOf([.component(commandOutcome), .component(bulkOutcome)]))

    private static let commandOutcome = Component(
        "CommandOutcome",
        "The result for one download.",
        .object(
            [
                .always("download", .component(Components.download), "As it is now."),
                Components.answerSeq,
                .always("changed", .boolean, "False if it already was in this state."),
            ],
            isClosed: false
        )
    )

    private static let bulkOutcome = Component(
        "BulkOutcome",
        "The result for several downloads.",
        .object(
            [
                .always("matched", .count, "Number of downloads that the request selected."),
                .always("changed", .count, "Number of downloads that were changed."),
                .always(
                    "errors",
                    .array(of: .component(Components.targetError), counts: 0...Limits.bulkErrorCount),
                    "Errors of downloads that could not be changed; only the first ones."
                ),
            ],
            isClosed: false
        )
    )

    static let wait = Component(
        "WaitResult", "For one id, or for several.", .anyOf([.component(waitOutcome), .component(waitCounts)]))

    private static let timedOut = Member.always("timedOut", .boolean, "True if timeoutMs was over first.")

    private static let waitOutcome = Component(
        "WaitOutcome",
        "The state of one download.",
        .object(
            [.always("download", .component(Components.download), "As it is now."), Components.answerSeq, timedOut],
            isClosed: false
        )
    )

    private static let waitCounts = Component(
        "WaitCounts",
        "The states of several downloads.",
        .object(
            [.always("counts", .component(stateCounts), "Number of downloads in each state."), timedOut],
            isClosed: false)
    )

    private static let stateCounts = Component(
        "StateCounts",
        "Number of downloads in each state; later versions may add states.",
        .object(DownloadState.allCases.map { .always($0.rawValue, .count, "") }, isClosed: false)
    )

    static let settings = Component(
        "Settings",
        "The current settings.",
        .object(
            [
                .always("maxActive", .count, "Downloads that are active at the same time."),
                .always("maxActivePerHost", .count, "Active downloads of one server."),
                .always("progressIntervalMs", .count, "Shortest time between two progress events of a download."),
                .always("defaults", .component(defaultsInForce), "Defaults for parameters that start leaves out."),
            ],
            isClosed: false
        )
    )

    private static let defaultsInForce = Component(
        "DefaultsInForce",
        "Defaults for parameters that start leaves out.",
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
