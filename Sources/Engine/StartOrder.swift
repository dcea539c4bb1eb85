/// The starts that are in flight, so that they are decided and answered in the order they came.
struct StartOrder {
    private var first: UInt64 = 0
    private var next: UInt64 = 0
    private var resolved: [UInt64: () -> Void] = [:]

    /// A place in the order.
    mutating func take() -> UInt64 {
        defer { next += 1 }
        return next
    }

    /// What to do for a place when those before it are done.
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
