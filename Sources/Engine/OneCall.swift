/// Calls a body only once, for the first caller, and then releases it.  Isolation: the engine.
final class OneCall<Value> {
    private var body: ((Value) -> Void)?

    init(_ body: @escaping (Value) -> Void) {
        self.body = body
    }

    /// True until it is called.
    var isPending: Bool { body != nil }

    func callAsFunction(_ value: Value) {
        body.take()?(value)
    }
}
