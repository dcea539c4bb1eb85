internal import Core
internal import Engine
internal import JSON

extension DownloadSnapshot {
    /// The wire's `Download`: every member, null if unknown.
    func encoded() -> JSONObject {
        var result = JSONObject([
            ("id", .string(id)),
            ("url", .string(url)),
            ("finalUrl", .optional(finalURL)),
            ("path", .optional(path)),
            ("partialPath", .optional(partialPath)),
            ("keptPaths", .array(keptPaths.map { .string($0) })),
            ("suggestedFileName", .optional(suggestedFileName)),
            ("contentType", .optional(contentType)),
            ("state", .string(state.rawValue)),
            ("reason", .optional(reason?.rawValue)),
            ("phase", .optional(phase?.rawValue)),
            ("owner", .string(owner.rawValue)),
            ("receivedBytes", .integer(receivedByteCount)),
            ("totalBytes", .optional(totalByteCount)),
            ("transferredBytes", .integer(transferredByteCount)),
            ("contiguousBytes", .integer(contiguousByteCount)),
            ("bytesPerSecond", .optional(bytesPerSecond)),
            ("etaMs", .optional(etaMilliseconds)),
            ("connections", .integer(Int64(connections))),
            ("attempt", .integer(Int64(attempt))),
            ("resumable", .optional(isResumable)),
            ("lengthVerified", .optional(isLengthVerified)),
            ("transfer", .optional(transfer?.encoded())),
            ("retryAt", .time(retryAtUnixMilliseconds)),
            ("checksum", .optional(checksum?.encoded())),
            ("error", .optional(failure?.encoded())),
            ("priority", .integer(priority)),
            ("metadata", metadata),
            ("createdAt", .time(createdAtUnixMilliseconds)),
            ("updatedAt", .time(updatedAtUnixMilliseconds)),
            ("completedAt", .time(completedAtUnixMilliseconds)),
            ("revision", .integer(revision)),
        ])
        shedWhatNoMessageHolds(&result)
        return result
    }

    private var metadata: JSONValue {
        guard let metadataText else { return .null }
        return (try? parseJSON(metadataText)) ?? .null
    }

    /// Removes the longest texts that a client can do without, if all of them together are too long for a message.
    ///
    /// Each text has a limit, but one byte of UTF-8 can need three in ASCII.
    private func shedWhatNoMessageHolds(_ result: inout JSONObject) {
        let texts: [String?] =
            keptPaths + [
                url, finalURL, path, partialPath, suggestedFileName, contentType, metadataText, failure?.message,
            ]
        let atMost = texts.reduce(0) { $0 + ($1?.utf8.count ?? 0) } * 3
        if atMost < Limits.pageByteCount - 4_096 { return }
        for member in ["finalUrl", "suggestedFileName", "metadata"] {
            if JSONValue.object(result).serialized().count <= Limits.pageByteCount { return }
            result[member] = .null
        }
        if JSONValue.object(result).serialized().count > Limits.pageByteCount { result["keptPaths"] = .array([]) }
    }
}

extension TransferOrigin {
    func encoded() -> JSONObject {
        [
            "mode": .string(mode.rawValue), "offset": .integer(offset), "why": .optional(why?.rawValue),
            "identity": .optional(identity?.rawValue),
        ]
    }
}

extension Checksum {
    func encoded() -> JSONObject {
        ["algorithm": .string(algorithm.rawValue), "value": .string(value)]
    }
}

extension DownloadFailure {
    func encoded() -> JSONObject {
        [
            "kind": .string(kind.rawValue),
            "message": .string(message),
            "retryable": .bool(isRetryable),
            "httpStatus": .optional(httpStatus),
            "curlCode": .optional(curlCode),
            "errno": .optional(errno),
            "holderId": .optional(holderID),
        ]
    }
}

extension JSONValue {
    /// A time as sent on the wire; nil becomes null.
    static func time(_ unixMilliseconds: Int64?) -> JSONValue {
        .optional(unixMilliseconds.map { Timestamp.text(unixMilliseconds: $0) })
    }
}
