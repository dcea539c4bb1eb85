internal import Core
internal import Engine
internal import JSON

/// Schemas and members that several methods share.
enum Parameter {
    static let downloadID = Component(
        "DownloadId",
        "A download's id: the client's own, or made by the service.",
        .string(
            TextRule(1...Limits.downloadIDByteCount, limit: "idBytes", pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$") {
                text in
                Limits.isDownloadID(text)
                    ? nil : "expected letters, digits, '.', '_' or '-', the first a letter or digit"
            }
        )
    )
    static let id = Schema.component(downloadID)

    /// Ids that one request may name.
    static let maxIDCount = 500
    static let ids = Schema.limited("ids", .array(of: id, counts: 0...maxIDCount))

    static let path = Schema.string(
        TextRule(1...Limits.pathByteCount, limit: "pathBytes") { $0.utf8.contains(0) ? "must not contain NUL" : nil }
    )

    static let resumeData = Schema.string(
        TextRule(1...Limits.resumeDataByteCount, limit: "resumeDataBytes", pattern: "^towline-resume-[!-~]+$") { text in
            let isPlain = text.utf8.allSatisfy { (0x21...0x7e).contains($0) }
            return text.hasPrefix("towline-resume-") && isPlain ? nil : "is not resume data"
        }
    )

    /// Headers that one request may set.
    static let maxHeaderCount = 200
    static let headers = Schema.limited(
        "headers",
        .map(
            values: .string(TextRule(0...Limits.requestHeadersByteCount, limit: "headersBytes")),
            maxCount: maxHeaderCount
        )
    )

    static let url = Schema.string(TextRule(1...Limits.urlByteCount, limit: "urlBytes"))

    /// A token that a host gives a wait.
    static let token = Schema.component(
        Component(
            "ProgressToken",
            "Under which $/progress tells how a wait goes.",
            .anyOf([
                .string(TextRule(0...Limits.requestIDByteCount, limit: "requestIdBytes")),
                .integer(-Schema.maxExactInteger...Schema.maxExactInteger),
            ])
        )
    )

    static let eventSelection = Schema.component(Words.eventSelection)

    /// What holds until somebody says otherwise.
    static let progressIntervalMilliseconds: Int64 = 250
    static let progressIntervalMs = Schema.integer(50...60_000)

    static let oneID = Member("id", id, "The download.", isRequired: true)

    /// One of `id`, `ids` and `all`.
    static func target(_ all: String) -> [Member] {
        [
            Member("id", id, "One download."),
            Member("ids", ids, "Several downloads."),
            Member("all", .boolean, all),
        ]
    }

    /// What `start` takes and `configure {defaults}` can preset.
    static let defaults: [Member] = [
        Member(
            "headers",
            headers,
            "Request headers; \(Limits.requestHeadersByteCount) bytes in all. Kept on disk with the download."
        ),
        Member(
            "userAgent",
            .string(
                TextRule(1...Limits.userAgentByteCount, limit: "userAgentBytes") {
                    HTTPGrammar.isFieldValue($0) ? nil : "must not contain control characters"
                }
            ),
            "The User-Agent header.",
            initialValue: .string(DownloadEngine.userAgent)
        ),
        Member(
            "connectTimeoutMs",
            .integer(Limits.delayMilliseconds),
            "How long connecting may take.",
            initialValue: .integer(DownloadOptions().connectTimeoutMilliseconds)
        ),
        Member(
            "stallTimeoutMs",
            .integer(Limits.delayMilliseconds),
            "How long no byte may come.",
            initialValue: .integer(DownloadOptions().stallTimeoutMilliseconds)
        ),
        Member(
            "createDirectories",
            .boolean,
            "Make the directories of the destination that are missing, inside --root only.",
            initialValue: .bool(DownloadOptions().createsDirectories)
        ),
        Member("retry", .component(Components.retry), "When to give up, and how long to wait before trying again."),
    ]
}
