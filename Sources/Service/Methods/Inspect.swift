internal import Core
internal import Engine
internal import JSON
internal import RPC

extension MethodDescription {
    static let inspect = MethodDescription(
        name: "inspect",
        summary: "Returns a download's history: redirects, validators, ranges, attempts, timings; without secrets.",
        kind: .read,
        parameters: [Parameter.oneID],
        resultName: "inspection",
        result: .component(Components.inspection),
        errors: [.downloadNotFound, .storageFailure],
        handle: { session, params, call, engine throws(RPCError) in
            engine.inspect(id: params["id"]?.string ?? "") { result in
                switch result {
                case .failure(let error): session.fail(call, RPCError(error))
                case .success(let inspection): session.answer(call, inspection.encoded())
                }
            }
        }
    )
}

extension Inspection {
    /// Contains the newest hops, attempts and ranges that fit into a message.
    func encoded() -> JSONObject {
        var result: JSONObject = [
            "download": .object(redactedDownload),
            "etag": .optional(etag),
            "lastModified": .optional(lastModified),
            "consecutiveFailures": .integer(Int64(consecutiveFailures)),
            "wastedBytes": .integer(wastedByteCount),
        ]
        var byteCount = JSONValue.object(result).serialized().count
        func add(_ name: String, newest values: [JSONValue]) {
            var kept: [JSONValue] = []
            for value in values.reversed() {
                byteCount += value.serialized().count + 1
                if byteCount > Limits.pageByteCount { break }
                kept.append(value)
            }
            result[name] = .array(kept.reversed())
        }
        add("attempts", newest: attempts.map { .object($0.encoded()) })
        add("hops", newest: hops.map { .object($0.encoded()) })
        add("durableRanges", newest: durableRanges.encoded())
        add("writtenRanges", newest: writtenRanges.encoded())
        return result
    }

    private var redactedDownload: JSONObject {
        var object = download.encoded()
        object["url"] = .string(Redaction.url(download.url))
        object["finalUrl"] = .optional(download.finalURL.map { Redaction.url($0) })
        return object
    }
}

extension Trail.Hop {
    fileprivate func encoded() -> JSONObject {
        [
            "url": .string(url), "status": .integer(Int64(status)), "remoteAddress": .optional(remoteAddress),
            "at": .time(atUnixMilliseconds),
        ]
    }
}

extension Trail.Attempt {
    fileprivate func encoded() -> JSONObject {
        [
            "startedAt": .time(startedAtUnixMilliseconds),
            "endedAt": .time(endedAtUnixMilliseconds),
            "transfer": .optional(origin?.encoded()),
            "requestedRange": .optional(requestedRange),
            "receivedBytes": .integer(receivedByteCount),
            "error": .optional(failure?.encoded()),
            "nameLookupMs": .optional(nameLookupMilliseconds),
            "connectMs": .optional(connectMilliseconds),
            "tlsMs": .optional(tlsMilliseconds),
            "firstByteMs": .optional(firstByteMilliseconds),
        ]
    }
}

extension ByteRangeSet {
    fileprivate func encoded() -> [JSONValue] {
        ranges.map { ["from": .integer($0.lowerBound), "to": .integer($0.upperBound)] }
    }
}
