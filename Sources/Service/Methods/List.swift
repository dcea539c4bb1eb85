internal import Core
internal import Engine
internal import JSON
internal import RPC

extension MethodDescription {
    static let list = MethodDescription(
        name: "list",
        summary: "Returns downloads page by page, in an order that changes do not affect.",
        kind: .read,
        parameters: [
            Member(
                "states",
                .array(of: .component(Words.downloadState), counts: 0...DownloadState.allCases.count),
                "Only those in one of these states."
            ),
            Member("ids", Parameter.ids, "Only these."),
            Member(
                "fields",
                .array(of: .component(Words.downloadField), counts: 1...100),
                "Only these members; id is always included."
            ),
            Member("changedSince", .count, "Only downloads changed after this revision; removed lists removed ones."),
            Member(
                "limit",
                .integer(1...Int64(Limits.listPageCount)),
                "Entries of a page at most; a page of long entries has fewer.",
                defaultValue: .integer(Int64(Limits.listPageDefaultCount))
            ),
            Member("cursor", .string(TextRule(1...1_024)), "The nextCursor of the previous page."),
        ],
        resultName: "page",
        result: .component(
            Component(
                "ListResult", "A page of downloads.",
                .object(
                    [
                        .always(
                            "downloads", .array(of: .component(Components.download), counts: 0...100),
                            "The downloads of this page."),
                        .always("removed", .array(of: .text, counts: 0...10_000), "Ids removed after changedSince."),
                        .always("nextCursor", .nullable(.text), "Cursor of the next page; null on the last page."),
                        .always("revision", .count, "Revision of the first page; use it as the next changedSince."),
                        .always("session", .text, "The session that seq belongs to."),
                        .always("seq", .count, "The page includes all events up to this one."),
                    ],
                    isClosed: false
                ))),
        errors: [.cursorExpired, .storageFailure],
        handle: listDownloads
    )
}

private func listDownloads(
    _ session: Session,
    _ params: JSONObject,
    _ call: Call,
    _ engine: isolated DownloadEngine
) throws(RPCError) {
    let request = ListRequest(
        states: params["states"]?.array?.compactMap { $0.string.flatMap(DownloadState.init) },
        ids: params["ids"]?.array?.compactMap(\.string),
        changedSinceRevision: params["changedSince"]?.integer,
        limit: params["limit"]?.integer.map { Int($0) } ?? Limits.listPageDefaultCount,
        cursor: params["cursor"]?.string
    )
    let fields = params["fields"]?.array.map { $0.compactMap(\.string) }
    // The page contains all events up to this number; it may contain later ones.
    let seq = session.seq
    engine.list(request) { result in
        switch result {
        case .failure(.cursorExpired):
            session.fail(call, .cursorExpired(at: params["cursor"] == nil ? "changedSince" : "cursor"))
        case .failure(let error): session.fail(call, RPCError(error))
        case .success(let answer):
            var page = ListPage(answer, fields: fields)
            page.members["session"] = .string(session.name)
            page.members["seq"] = .integer(seq)
            session.answer(call, page.members)
        }
    }
}

/// A page that fits into one message.
struct ListPage {
    /// Bytes reserved for everything except downloads and removals.
    private static let envelopeByteCount = 2_048

    var members: JSONObject

    /// Adds entries as long as they fit, and sets the cursor for the rest.
    init(_ answer: ListAnswer, fields: [String]?) {
        var byteCount = Self.envelopeByteCount + Self.encoded(answer.removedIDs).serialized().count
        var downloads: [JSONValue] = []
        var nextCursor = answer.nextCursor
        var removed = answer.removedIDs
        for (index, entry) in answer.entries.enumerated() {
            let encoded = JSONValue.object(Self.selected(entry.download.encoded(), fields))
            byteCount += encoded.serialized().count + 1
            // The first entry is always added, whatever its size; otherwise the list would never end.
            if index > 0 && byteCount > Limits.pageByteCount {
                nextCursor = answer.entries[index - 1].cursorAfter
                removed = answer.entries[index - 1].removedIDs
                break
            }
            downloads.append(encoded)
        }
        members = [
            "downloads": .array(downloads),
            "removed": Self.encoded(removed),
            "nextCursor": .optional(nextCursor),
            "revision": .integer(answer.revision),
        ]
    }

    private static func encoded(_ ids: [String]) -> JSONValue { .array(ids.map { .string($0) }) }

    private static func selected(_ download: JSONObject, _ fields: [String]?) -> JSONObject {
        guard let fields else { return download }
        return JSONObject(
            download.members.filter { $0.key == "id" || fields.contains($0.key) }.map { ($0.key, $0.value) }
        )
    }
}
