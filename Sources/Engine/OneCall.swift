/// Calls a body once, for whoever comes first; what the body holds is let go then.  Isolation: the engine.
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
