internal import Core
internal import Engine
internal import JSON
internal import RPC

extension RPCError {
    /// A parameter that does not fit its schema.
    init(_ error: ParameterError) {
        var extra: JSONObject = ["path": .string(error.path)]
        if let limit = error.limit {
            extra["limit"] = .string(limit.name)
            extra["maximum"] = .integer(limit.maximum)
        }
        self = .invalidParams(error.message, extra: extra)
    }

    /// A parameter that breaks a rule which no schema can express.
    static func parameter(_ path: String, _ problem: String, limit: NamedLimit? = nil) -> RPCError {
        RPCError(ParameterError(path: path.isEmpty ? "params" : "params.\(path)", problem: problem, limit: limit))
    }

    static let shuttingDown = RPCError(.shuttingDown, "The service is shutting down.")

    /// The answer for an error of the engine.
    init(_ error: EngineError) {
        switch error {
        case .downloadNotFound(let id):
            self.init(.downloadNotFound, "There is no download \(quoted(id)).", extra: ["id": .string(id)])
        case .invalidState(let id, let state, let command):
            self.init(
                .invalidState,
                "Cannot \(command.wireName) download \(quoted(id)): it is \(state.rawValue).",
                extra: ["id": .string(id), "state": .string(state.rawValue), "command": .string(command.wireName)]
            )
        case .notUpdatable(let id, let state):
            self.init(
                .invalidState,
                "Cannot update download \(quoted(id)): it is \(state.rawValue).",
                extra: ["id": .string(id), "state": .string(state.rawValue), "command": "update"]
            )
        case .notExportable(let id, let state):
            self.init(
                .invalidState,
                "Cannot export download \(quoted(id)): it is \(state.rawValue).",
                extra: ["id": .string(id), "state": .string(state.rawValue), "command": "export"]
            )
        case .resumeDataUnusable(let path, let reason):
            self.init(
                .resumeDataUnusable,
                "params.resumeData: \(reason.meaning): \(oneLine(path))",
                extra: ["path": .string(path), "reason": .string(reason.rawValue)]
            )
        case .destinationExists(let path):
            self.init(
                .destinationConflict,
                "The destination exists: \(oneLine(path))",
                extra: ["path": .string(path), "reason": "exists"]
            )
        case .destinationHeld(let path, let id):
            self.init(
                .destinationConflict,
                "Download \(quoted(id)) already uses the destination: \(oneLine(path))",
                extra: ["path": .string(path), "reason": "held", "id": .string(id)]
            )
        case .directoryMissing(let path):
            self.init(
                .destinationConflict,
                "The directory does not exist: \(oneLine(path))",
                extra: ["path": .string(path), "reason": "directoryMissing"]
            )
        case .nameTooLong: self.init(error, destinationFrom: "")
        case .idConflict(let id, let differs):
            self.init(
                .idConflict,
                "Download \(quoted(id)) was started with another \(differs.joined(separator: ", ")).",
                extra: ["id": .string(id), "differs": .array(differs.map { .string($0) })]
            )
        case .unsupportedURL(let message):
            self.init(.unsupportedUrl, "params.url: \(message)", extra: ["path": "params.url"])
        case .limitExceeded(let limit, let maximum):
            self.init(
                .limitExceeded,
                "The limit \(limit) is reached: \(maximum).",
                extra: ["limit": .string(limit), "maximum": .integer(maximum)]
            )
        case .invalidCursor: self = .parameter("cursor", "not a cursor of this service")
        case .cursorExpired: self = .cursorExpired(at: "cursor")
        case .shuttingDown: self = .shuttingDown
        case .storageFailure(let message): self.init(.storageFailure, message)
        case .internalError(let message): self = .internalError("The service has a bug: \(message).")
        case .permissionDenied(let path): self = .permissionDenied(path: path)
        case .outsideRoots(let path): self = .outsideRoots(path: path)
        case .lockedElsewhere(let id, let owner):
            let name = owner.map { "Process \($0.id)" } ?? "Another process"
            let isAsked = owner?.yields == true ? "; it will release it: try again" : ""
            self.init(
                .lockedElsewhere,
                "\(name) owns download \(quoted(id))\(isAsked).",
                extra: [
                    "id": .string(id), "processId": .optional(owner?.id), "yields": .bool(owner?.yields ?? false),
                ]
            )
        }
    }

    /// The answer for an error about a destination that this parameter gave.
    init(_ error: EngineError, destinationFrom member: String) {
        guard case .nameTooLong(let path, let isPath, let maximum) = error else {
            self.init(error)
            return
        }
        let expected = isPath ? "at most \(maximum) bytes in all" : "file names of at most \(maximum) bytes there"
        let problem = "expected \(expected), the suffix .towline of the partial file included: \(oneLine(path))"
        let parameter = member.isEmpty ? "params" : "params.\(member)"
        let limit = NamedLimit(name: isPath ? "pathBytes" : "fileNameBytes", maximum: Int64(maximum))
        self.init(ParameterError(path: parameter, problem: problem, limit: limit))
    }

    /// A cursor or revision that is no longer valid; the message says which parameter to leave out.
    static func cursorExpired(at member: String) -> RPCError {
        let problem =
            member == "cursor"
            ? "belongs to a list with other states, ids or changedSince, or to another database: call list without it"
            : "is too old, or belongs to another database: call list without it"
        let path = "params.\(member)"
        return RPCError(.cursorExpired, "\(path): \(problem)", extra: ["path": .string(path)])
    }

    static func permissionDenied(path: String) -> RPCError {
        RPCError(.permissionDenied, "No permission to write: \(oneLine(path))", extra: ["path": .string(path)])
    }

    static func outsideRoots(path: String) -> RPCError {
        RPCError(
            .permissionDenied,
            "Outside the directories that --root allows: \(oneLine(path))",
            extra: ["path": .string(path)]
        )
    }
}

extension ResumeDataProblem {
    fileprivate var meaning: String {
        switch self {
        case .partialMissing: "its partial file does not exist (already used, finished or deleted)"
        case .partialReplaced: "its partial file was replaced by another file"
        case .partialInUse: "another download has its partial file open"
        case .otherFileSystem: "the destination and its partial file are on different file systems"
        case .unproven: "it was not exported by this user on this machine"
        }
    }
}

/// A path for a message, with `?` for control characters.
private func oneLine(_ path: String) -> String {
    String(String.UnicodeScalarView(path.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? "?" : $0 }))
}
