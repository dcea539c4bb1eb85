internal import Core
internal import Engine
internal import JSON

/// The schemas that have names in the document.
enum Components {
    static let checksum = Component(
        "Checksum",
        "The digest that the finished file must have.",
        .object(
            [
                .always("algorithm", .component(Words.checksumAlgorithm), "How it is computed."),
                .always(
                    "value",
                    .string(TextRule(32...128, pattern: "^[0-9A-Fa-f]+$")),
                    "Hexadecimal digits, as many as the algorithm has."
                ),
            ],
            isClosed: true
        )
    )

    static let retry = Component(
        "RetryOptions",
        "When to give up, and how long to wait before trying again.",
        .object(
            [
                Member(
                    "maxAttempts", .integer(Limits.retryAttemptCount),
                    "Failures in a row, without a byte gained between them.",
                    initialValue: .integer(Int64(RetryOptions().maxAttempts))),
                Member(
                    "initialDelayMs", .integer(Limits.delayMilliseconds), "The wait before the first new try.",
                    initialValue: .integer(RetryOptions().initialDelayMilliseconds)),
                Member(
                    "maxDelayMs", .integer(Limits.delayMilliseconds), "Where the waits stop growing.",
                    initialValue: .integer(RetryOptions().maxDelayMilliseconds)),
            ],
            isClosed: true
        )
    )

    static let transfer = Component(
        "TransferOrigin",
        "How the current transfer began.",
        .object(
            [
                .always("mode", .open(Words.transferMode), "From nothing, from what was held, or all anew."),
                .always("offset", .count, "The byte at which it began."),
                .always(
                    "why",
                    .nullable(.open(Words.transferWhy)),
                    "Why bytes that were held could not be used; with unchanged, what tells that the file there is the one."
                ),
                .always(
                    "identity",
                    .nullable(.open(Words.identityProof)),
                    "What says that the bytes joined are of one file; null when none were."
                ),
            ],
            isClosed: false
        )
    )

    static let transferError = Component(
        "TransferError",
        "A download's own failure; not an error of a request.",
        .object(
            [
                .always("kind", .open(Words.failureKind), "The stable key; more may come."),
                .always("message", .text, "One sentence for people."),
                .always("retryable", .boolean, "True when trying again later, unchanged, may succeed."),
                .always("httpStatus", .nullable(.integer(0...999)), "The server's status."),
                .always("curlCode", .nullable(.integer(0...999)), "libcurl's code."),
                .always("errno", .nullable(.integer(0...9999)), "The system's error number."),
                .always("holderId", .nullable(.text), "With destinationConflict: who has the name."),
            ],
            isClosed: false
        )
    )

    static let download = Component(
        "Download", "One download, at one moment.", .object(downloadMembers, isClosed: false))

    /// Beside every download that an answer shows.
    static let answerSeq = Member.always("seq", .count, "Of the last event before the answer.")

    /// In the order in which they are written; the names are what `list {fields}` takes.
    static let downloadMembers: [Member] = [
        .always("id", .text, "Given by the client or made by the service."),
        .always("url", .text, "As given; never a redirect's target."),
        .always("finalUrl", .nullable(.text), "Where the redirects led."),
        .always("path", .nullable(.text), "The finished file, absolute; null until named."),
        .always("partialPath", .nullable(.text), "Where the bytes are until then."),
        .always(
            "keptPaths",
            .array(of: .text, counts: 0...Limits.keptPartialCount),
            "What is held of versions that the server no longer has, with onChange keepBoth; the oldest first."
        ),
        .always("suggestedFileName", .nullable(.text), "What the response calls the file."),
        .always("contentType", .nullable(.text), "As received."),
        .always("state", .open(Words.downloadState), "Treat a value that you do not know as not final."),
        .always("reason", .nullable(.open(Words.stateReason)), "Why it waits or is paused."),
        .always("phase", .nullable(.open(Words.downloadPhase)), "What it does while active."),
        .always("owner", .open(Words.ownership), "Which process it belongs to."),
        .always("receivedBytes", .count, "Bytes of the file that are held."),
        .always("totalBytes", .nullable(.count), "Bytes that the file will have."),
        .always("transferredBytes", .count, "Body bytes that came over the network in this attempt."),
        .always("contiguousBytes", .count, "The prefix of the partial file that may be read already."),
        .always("bytesPerSecond", .nullable(.count), "Averaged over about 5 seconds."),
        .always("etaMs", .nullable(.count), "Milliseconds until the last byte, at this speed."),
        .always("connections", .count, "Open now."),
        .always("attempt", .count, "A new one begins whenever bytes have to be fetched again."),
        .always("resumable", .nullable(.boolean), "Whether the server lets a transfer go on where it stopped."),
        .always(
            "lengthVerified",
            .nullable(.boolean),
            "False when only the end of the connection told the end of the file."
        ),
        .always("transfer", .nullable(.component(transfer)), "How the current transfer began."),
        .always("retryAt", .nullable(.time), "When a waiting download tries again."),
        .always("checksum", .nullable(.component(checksum)), "What the finished file must match."),
        .always("error", .nullable(.component(transferError)), "The last failure."),
        .always("priority", .integer(Limits.priority), "Higher goes first."),
        .always("metadata", .nullable(.anyObject(maxByteCount: Limits.metadataByteCount)), "The client's own object."),
        .always("createdAt", .time, "When it was started."),
        .always("updatedAt", .time, "When its record changed last."),
        .always("completedAt", .nullable(.time), "When the file was complete."),
        .always("revision", .count, "Grows with every change of any record."),
    ]

    static let nothing = Component("EmptyResult", "Nothing to tell.", .object([], isClosed: false))

    static let targetError = Component(
        "TargetError",
        "Why one of several downloads could not be changed.",
        .object(
            [
                .always("id", .text, "The download."),
                .always("error", .component(Envelope.error), "What its own request would have been answered."),
            ],
            isClosed: false
        )
    )

    static let info = Component(
        "ServiceInfo", "What the service is and can do.", .object(infoMembers, isClosed: false))

    private static let serverInfo = Component(
        "ServerInfo",
        "Name and version, where the Language Server Protocol has them.",
        .object([.always("name", .text, "towline"), .always("version", .text, "Of the program.")], isClosed: false)
    )

    private static let words = Schema.array(of: .text, counts: 0...100)

    private static let capabilities = Component(
        "Capabilities",
        "What this version can do.",
        .object(
            [
                .always("checksums", words, "Algorithms of checksum."),
                .always("ifExists", words, "Values of ifExists."),
                .always("onChange", words, "Values of onChange."),
                .always("resumePolicies", words, "Values of resumePolicy."),
                .always("schemes", words, "Of URLs."),
                .always("events", words, "Events that it sends."),
            ],
            isClosed: false
        )
    )

    private static let infoMembers: [Member] = [
        .always("name", .text, "towline"),
        .always("version", .text, "Of the program."),
        .always("protocol", .text, "Of the wire."),
        .always("capabilities", .component(capabilities), "What this version can do."),
        .always("limits", .map(values: .count, maxCount: 1_000), "Each by its name."),
        .always("stateDirectory", .text, "Where records are kept."),
        .always("libraries", .map(values: .text, maxCount: 100), "Versions in use."),
        .always("processId", .count, "Of the service."),
        .always("uptimeMs", .count, "Milliseconds since the session began."),
        .always("session", .text, "Tells this session's events from another's."),
        .always("serverInfo", .component(serverInfo), "Name and version, as the Language Server Protocol has them."),
    ]

    private static let range = Schema.component(
        Component(
            "ByteRange", "Bytes of a file.",
            .object(
                [.always("from", .count, "The first byte."), .always("to", .count, "The one after the last.")],
                isClosed: false
            )))

    private static let milliseconds = Schema.nullable(.count)

    static let inspection = Component(
        "Inspection",
        "A download's trail; the oldest entries are left out when it is long.",
        .object(
            [
                .always("download", .component(download), "As it is now, secrets in URLs replaced."),
                .always("etag", .nullable(.text), "As received."),
                .always("lastModified", .nullable(.text), "As received."),
                .always("consecutiveFailures", .count, "Without a byte gained between them."),
                .always("wastedBytes", .count, "Fetched and not used."),
                .always("attempts", .array(of: attempt, counts: 0...1_000), "Requests, the newest last."),
                .always("hops", .array(of: hop, counts: 0...1_000), "Responses met on the way, the newest last."),
                .always("durableRanges", .array(of: range, counts: 0...100_000), "Safe from a power cut."),
                .always("writtenRanges", .array(of: range, counts: 0...100_000), "Safe from the end of the process."),
            ],
            isClosed: false
        )
    )

    private static let hop = Schema.component(
        Component(
            "Hop", "A response met on the way.",
            .object(
                [
                    .always("url", .text, "Secrets replaced."),
                    .always("status", .integer(0...999), "The server's."),
                    .always("remoteAddress", .nullable(.text), "Where it was."),
                    .always("at", .time, "When."),
                ],
                isClosed: false
            )))

    private static let attempt = Schema.component(
        Component(
            "Attempt", "A request, with the redirects that it followed.",
            .object(
                [
                    .always("startedAt", .time, "When it began."),
                    .always("endedAt", .nullable(.time), "When it ended."),
                    .always("transfer", .nullable(.component(transfer)), "How it began."),
                    .always("requestedRange", .nullable(.text), "The Range header sent."),
                    .always("receivedBytes", .count, "Body bytes that came."),
                    .always("error", .nullable(.component(transferError)), "Why it failed."),
                    .always("nameLookupMs", milliseconds, "From the request's start, as those below."),
                    .always("connectMs", milliseconds, "Connected."),
                    .always("tlsMs", milliseconds, "TLS agreed."),
                    .always("firstByteMs", milliseconds, "The first byte came."),
                ],
                isClosed: false
            )))
}
