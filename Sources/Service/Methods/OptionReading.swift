internal import Core
internal import JSON
internal import RPC

extension DownloadOptions {
    /// Reads the options that `start` and `configure {defaults}` have in common; the schema has already checked the
    /// object.
    ///
    /// - Parameter path: the path of the object below `params`; empty or ending in a dot.
    mutating func apply(defaults object: JSONObject, at path: String) throws(RPCError) {
        if let headers = object["headers"]?.object { try apply(headers: headers, at: path + "headers") }
        if let agent = object["userAgent"]?.string { userAgent = agent }
        if let timeout = object["connectTimeoutMs"]?.integer { connectTimeoutMilliseconds = timeout }
        if let timeout = object["stallTimeoutMs"]?.integer { stallTimeoutMilliseconds = timeout }
        if let isWanted = object["createDirectories"]?.bool { createsDirectories = isWanted }
        if let retry = object["retry"]?.object { try apply(retry: retry, at: path + "retry") }
    }

    /// These headers replace earlier ones of the same name, ignoring case.
    mutating func apply(headers object: JSONObject, at path: String) throws(RPCError) {
        let given = object.members.map { HeaderField($0.key, $0.value.string ?? "") }
        for (index, field) in given.enumerated() {
            if given[..<index].contains(where: { $0.name.equalsIgnoringASCIICase(field.name) }) {
                throw .parameter(path, "contains the same header twice, in different case")
            }
        }
        headers.removeAll { old in given.contains { $0.name.equalsIgnoringASCIICase(old.name) } }
        headers += given
        do throws(HeaderViolation) {
            try HeaderRules.validate(headers)
        } catch {
            let bytes = NamedLimit(name: "headersBytes", maximum: Int64(Limits.requestHeadersByteCount))
            throw .parameter(path, error.message, limit: error.rule == .tooLarge ? bytes : nil)
        }
    }

    private mutating func apply(retry object: JSONObject, at path: String) throws(RPCError) {
        if let count = object["maxAttempts"]?.integer { retry.maxAttempts = Int(count) }
        if let delay = object["maxDelayMs"]?.integer {
            retry.maxDelayMilliseconds = delay
            // If the maximum is below the default first delay, the first delay becomes shorter.
            if object["initialDelayMs"] == nil {
                retry.initialDelayMilliseconds = min(retry.initialDelayMilliseconds, delay)
            }
        }
        if let delay = object["initialDelayMs"]?.integer { retry.initialDelayMilliseconds = delay }
        if retry.initialDelayMilliseconds > retry.maxDelayMilliseconds {
            throw .parameter(path + ".initialDelayMs", "expected at most maxDelayMs, \(retry.maxDelayMilliseconds)")
        }
    }

    /// The `defaults` in the answer to `configure`: the members of `Parameter.defaults`.
    func encodedDefaults() -> JSONObject {
        [
            "headers": .object(JSONObject(headers.map { ($0.name, .string($0.value)) })),
            "userAgent": .optional(userAgent),
            "connectTimeoutMs": .integer(connectTimeoutMilliseconds),
            "stallTimeoutMs": .integer(stallTimeoutMilliseconds),
            "createDirectories": .bool(createsDirectories),
            "retry": [
                "maxAttempts": .integer(Int64(retry.maxAttempts)),
                "initialDelayMs": .integer(retry.initialDelayMilliseconds),
                "maxDelayMs": .integer(retry.maxDelayMilliseconds),
            ],
        ]
    }
}

extension Checksum {
    /// Reads an object that the schema has checked; the number of digits depends on the algorithm, which no schema can
    /// express.
    init(_ object: JSONObject, at path: String) throws(RPCError) {
        guard let name = object["algorithm"]?.string, let algorithm = Algorithm(rawValue: name) else {
            throw .parameter(path + ".algorithm", "unknown")
        }
        let value = (object["value"]?.string ?? "").lowercased()
        let isHex = value.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
        guard isHex, value.utf8.count == algorithm.hexDigitCount else {
            throw .parameter(path + ".value", "expected \(algorithm.hexDigitCount) hexadecimal digits for \(name)")
        }
        self.init(algorithm: algorithm, value: value)
    }
}
