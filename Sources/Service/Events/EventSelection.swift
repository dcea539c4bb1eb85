/// Which events a download sends unasked to the session that started it.
enum EventSelection: String, Sendable, CaseIterable {
    case none
    case changed
    case all
}
