/// Which events of a download are sent to the session that started it, without a subscription.
enum EventSelection: String, Sendable, CaseIterable {
    case none
    case changed
    case all
}
