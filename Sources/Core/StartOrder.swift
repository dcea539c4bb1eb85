/// Pending starts, which are decided and answered in the order of arrival.
package struct StartOrder<Body> {
    private var first: UInt64 = 0
    private var next: UInt64 = 0
    private var resolved: [UInt64: Body] = [:]

    package init() {}

    /// Takes the next place in the order.
    package mutating func take() -> UInt64 {
        defer { next += 1 }
        return next
    }

    /// Sets what to do for a place, once the places before it are done.
    package mutating func resolve(_ place: UInt64, _ body: Body) {
        resolved[place] = body
    }

    /// The next thing to do; nil while an earlier start is undecided.
    package mutating func popResolved() -> Body? {
        guard let body = resolved.removeValue(forKey: first) else { return nil }
        first += 1
        return body
    }
}
