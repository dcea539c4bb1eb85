/// What `Content-Encoding` means for a client that asked for the plain bytes (RFC 9110, 8.4).
package enum ContentCoding {
    /// The content codings, in lower case; empty for plain bytes. Values that occur but name no coding are left out.
    package static func inForce(_ head: ResponseHead) -> [String] {
        HTTPGrammar.tokenList(head.values("Content-Encoding")).filter { !meaningless.contains($0) }
    }

    /// What helps to tell a compressed file from a compressed response, besides the response itself.
    package struct Evidence: Equatable, Sendable {
        /// The file's name and the names in the URLs that led to it, as paths or last components.
        package var names: [String]
        /// True when the decoded bytes did not match the caller's checksum: then the encoded bytes are kept.
        package var keepsCoding: Bool

        package init(names: [String] = [], keepsCoding: Bool = false) {
            self.names = names
            self.keepsCoding = keepsCoding
        }
    }

    /// True when the coding only labels a compressed file; then the file is the encoded bytes.
    ///
    /// Some servers send `archive.tar.gz` with `Content-Encoding: gzip`. The file is not unpacked then, as in browsers.
    /// The name in `Content-Disposition` counts as well.
    package static func labelsFile(_ head: ResponseHead, _ evidence: Evidence) -> Bool {
        let codings = inForce(head)
        if evidence.keepsCoding, codings.count == 1 { return true }
        let contentType = head.value("Content-Type")
        // The name as received, and the sanitised name.
        let given = head.fileName.map { [$0, FileName.suggested(given: $0, urlPath: "")] } ?? []
        return (given + evidence.names).contains { name in
            labelsFile(codings, path: name, contentType: contentType)
        }
    }

    /// The same for one name (the last component of `path`) and the media type.
    static func labelsFile(_ codings: [String], path: String, contentType: String?) -> Bool {
        guard codings.count == 1, let coding = codings.first else { return false }
        let row = labels.first { $0.codings.contains(coding) }
        guard let row else { return false }
        if let mediaType = contentType.map(HTTPGrammar.mediaType) {
            if row.mediaTypes.contains(mediaType) { return true }
            if let suffix = row.typeSuffix, mediaType.hasSuffix(suffix) { return true }
        }
        let name = path.utf8.split(separator: UInt8(ascii: "/")).last ?? Substring("").utf8
        guard let dot = name.lastIndex(of: UInt8(ascii: ".")) else { return false }
        return row.fileExtensions.contains(HTTPGrammar.lowercased(Substring(name[name.index(after: dot)...])))
    }

    /// A compression that the server applied although nobody asked for it, and that can be undone.
    package enum Compression: Equatable, Sendable {
        case gzip
        /// The zlib format or, from servers that get it wrong, raw deflate.
        case deflate
    }

    /// The compression to undo; nil when there is none, or when it cannot be undone.
    ///
    /// Only for whole bodies: part of a compressed one is of no use.
    package static func compression(_ head: ResponseHead, evidence: Evidence) -> Compression? {
        guard head.status == 200 || head.status == 203 else { return nil }
        let codings = inForce(head)
        if codings.count != 1 || labelsFile(head, evidence) { return nil }
        switch codings.first {
        case "gzip", "x-gzip": return .gzip
        case "deflate": return .deflate
        default: return nil
        }
    }

    /// `aws-chunked` is left over from uploads; the others are mistakes.
    private static let meaningless: Set<String> = ["identity", "none", "binary", "utf-8", "aws-chunked"]

    private struct Label {
        var codings: Set<String>
        var fileExtensions: Set<String>
        var mediaTypes: Set<String>
        /// The structured suffix of media types that end in it (RFC 6839).
        var typeSuffix: String?
    }

    private static let labels = [
        Label(
            codings: ["gzip", "x-gzip"],
            fileExtensions: [
                "adz", "crate", "dz", "emz", "gz", "gzip", "svgz", "taz", "tgz", "tpz", "unitypackage", "wmz",
            ],
            mediaTypes: [
                "application/gzip", "application/x-gzip", "application/x-gzip-compressed",
                "application/gzip-compressed", "application/x-gtar", "application/x-tgz",
                "application/x-compressed-tar", "application/vnd.docker.image.rootfs.diff.tar.gzip",
            ],
            typeSuffix: "+gzip"
        ),
        Label(
            codings: ["zstd"], fileExtensions: ["zst", "tzst"], mediaTypes: ["application/zstd"], typeSuffix: "+zstd"),
        Label(codings: ["br"], fileExtensions: ["br"], mediaTypes: []),
        Label(
            codings: ["compress", "x-compress"],
            fileExtensions: ["z", "taz"],
            mediaTypes: ["application/x-compress"]
        ),
        // RFC 1950 as a file; no registered name.
        Label(codings: ["deflate"], fileExtensions: ["zlib", "zz"], mediaTypes: ["application/zlib"]),
    ]
}
