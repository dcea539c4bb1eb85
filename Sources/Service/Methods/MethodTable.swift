/// All methods and notifications; no other list of them exists.
enum MethodTable {
    /// In the order of the document.
    static let methods: [MethodDescription] = [
        .start, .pause, .resume, .cancel, .update, .remove, .get, .list, .wait, .inspect, .export, .subscribe,
        .unsubscribe, .configure, .info, .ping, .discover, .initialize, .shutdown,
    ]

    static let notifications: [NotificationDescription] = [
        .changed, .removed, .progress, .eventsLost, .workDoneProgress, .initialized, .exit, .cancelRequest,
        .cancelWorkDone,
    ]

    static func method(_ name: String) -> MethodDescription? { methodsByName[name] }

    static func notification(_ name: String) -> NotificationDescription? {
        notifications.first { $0.name == name && $0.handle != nil }
    }

    private static let methodsByName = Dictionary(
        methods.map { ($0.name, $0) },
        uniquingKeysWith: { first, _ in first }
    )
}
