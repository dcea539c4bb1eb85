internal import JSON

/// Rules about params that a list of parameters cannot express.
enum ParamsDocument {
    /// Which parameters must be given, as a schema of a method's whole params; nil if there is no rule.
    static func groups(of method: MethodDescription) -> JSONObject? {
        func alternatives(_ names: [String]) -> JSONValue { .array(names.map { ["required": [.string($0)]] }) }
        if !method.exactlyOneOf.isEmpty { return ["oneOf": alternatives(method.exactlyOneOf)] }
        if !method.requiredOneOf.isEmpty { return ["anyOf": alternatives(method.requiredOneOf)] }
        return nil
    }

    /// A notification's params as one object.
    static func component(of notification: NotificationDescription) -> Component {
        // `$/progress` would clash with `progress`.
        let name = notification.name == "$/progress" ? "WorkDoneProgress" : notification.name
        let words = name.split { !($0.isLetter || $0.isNumber) }
        let stem = words.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
        return Component(
            "\(stem)Params", "Params of \(notification.name).", .object(notification.parameters, isClosed: false))
    }
}
