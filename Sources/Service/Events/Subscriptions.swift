/// Events that the host requested in addition to those of its own downloads.
struct Subscriptions: Sendable {
    struct Subscription: Sendable {
        var wantsChanged: Bool
        var wantsProgress: Bool
        /// Nil: all downloads of this process.
        var ids: Set<String>?
        var progressIntervalMilliseconds: Int64

        init(
            wantsChanged: Bool,
            wantsProgress: Bool,
            ids: Set<String>?,
            progressIntervalMilliseconds: Int64
        ) {
            self.wantsChanged = wantsChanged
            self.wantsProgress = wantsProgress
            self.ids = ids
            self.progressIntervalMilliseconds = progressIntervalMilliseconds
        }
    }

    /// Which events somebody wants of one download.
    struct Interest: Equatable, Sendable {
        var wantsChanged = false
        /// Nil: no progress.
        var progressIntervalMilliseconds: Int64?

        mutating func want(progressEvery milliseconds: Int64) {
            progressIntervalMilliseconds = min(progressIntervalMilliseconds ?? .max, milliseconds)
        }
    }

    /// Subscriptions that may exist at the same time.
    static let maxCount = 64

    private var subscriptions: [String: Subscription] = [:]
    private var lastNumber = 0

    init() {}

    /// Nil if there are too many.
    mutating func add(_ subscription: Subscription) -> String? {
        if subscriptions.count >= Self.maxCount { return nil }
        lastNumber += 1
        let name = "s\(lastNumber)"
        subscriptions[name] = subscription
        return name
    }

    /// False if there is no subscription of this name.
    mutating func remove(_ name: String) -> Bool {
        subscriptions.removeValue(forKey: name) != nil
    }

    /// - Parameter isOwn: the download belongs to this process.
    func interest(in id: String, isOwn: Bool) -> Interest {
        var interest = Interest()
        for subscription in subscriptions.values where subscription.ids?.contains(id) ?? isOwn {
            interest.wantsChanged = interest.wantsChanged || subscription.wantsChanged
            if subscription.wantsProgress { interest.want(progressEvery: subscription.progressIntervalMilliseconds) }
        }
        return interest
    }

    /// True when a subscription names ids.
    var hasNamedIDs: Bool { subscriptions.values.contains { $0.ids != nil } }

    /// All ids that a subscription names.
    var namedIDs: Set<String> {
        subscriptions.values.reduce(into: []) { result, subscription in result.formUnion(subscription.ids ?? []) }
    }

    /// The shortest interval of all subscriptions.
    var shortestIntervalMilliseconds: Int64? {
        subscriptions.values.filter(\.wantsProgress).map(\.progressIntervalMilliseconds).min()
    }
}
