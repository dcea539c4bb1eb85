/// Pending starts, which are decided and answered in the order of arrival.
struct StartOrder {
    private var first: UInt64 = 0
    private var next: UInt64 = 0
    private var resolved: [UInt64: () -> Void] = [:]

    /// Takes the next place in the order.
    mutating func take() -> UInt64 {
        defer { next += 1 }
        return next
    }

    /// Sets what to do for a place, once the places before it are done.
    mutating func resolve(_ place: UInt64, _ body: @escaping () -> Void) {
        resolved[place] = body
    }

    /// The next thing to do; nil while an earlier start is undecided.
    mutating func popResolved() -> (() -> Void)? {
        guard let body = resolved.removeValue(forKey: first) else { return nil }
        first += 1
        return body
    }
}
