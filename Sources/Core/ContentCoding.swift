/// What `Content-Encoding` means for somebody who asked for the plain bytes (RFC 9110, 8.4).
package enum ContentCoding {
    /// The codings in force, in lower case; empty for the plain bytes.
    ///
    /// Values that name no coding of the bytes, but occur, are left out.
    package static func inForce(_ head: ResponseHead) -> [String] {
        HTTPGrammar.tokenList(head.values("Content-Encoding")).filter { !meaningless.contains($0) }
    }

    /// True when the coding is only the server's way of labelling a compressed file: then the file is those bytes.
    ///
    /// Servers that map `.gz` to a coding would have `archive.tar.gz` unpacked on its way; browsers keep it too.
    package static func labelsFile(_ codings: [String], path: String, contentType: String?) -> Bool {
        guard codings.count == 1, let coding = codings.first else { return false }
        let row = labels.first { $0.codings.contains(coding) }
        guard let row else { return false }
        if let contentType, row.mediaTypes.contains(HTTPGrammar.mediaType(contentType)) { return true }
        let name = path.utf8.split(separator: UInt8(ascii: "/")).last ?? Substring("").utf8
        guard let dot = name.lastIndex(of: UInt8(ascii: ".")) else { return false }
        return row.fileExtensions.contains(HTTPGrammar.lowercased(Substring(name[name.index(after: dot)...])))
    }

    /// How a response was compressed on its way, though nobody asked for it, in a way that can be undone.
    package enum Compression: Equatable, Sendable {
        case gzip
        /// zlib's format or, from servers that get it wrong, deflate alone.
        case deflate
    }

    /// What has to be undone for the file's own bytes; nil when there is nothing to undo, or no way to.
    ///
    /// `path` is that of the URL that answered.  Only whole bodies: part of a compressed one is of no use.
    package static func compression(_ head: ResponseHead, path: String) -> Compression? {
        guard head.status == 200 || head.status == 203 else { return nil }
        let codings = inForce(head)
        if codings.count != 1 || labelsFile(codings, path: path, contentType: head.value("Content-Type")) { return nil }
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
    }

    private static let labels = [
        Label(
            codings: ["gzip", "x-gzip"],
            fileExtensions: ["gz", "tgz", "taz", "svgz", "emz", "wmz"],
            mediaTypes: ["application/gzip", "application/x-gzip", "application/x-gtar", "application/x-tgz"]
        ),
        Label(codings: ["zstd"], fileExtensions: ["zst", "tzst"], mediaTypes: ["application/zstd"]),
        Label(codings: ["br"], fileExtensions: ["br"], mediaTypes: []),
        Label(
            codings: ["compress", "x-compress"],
            fileExtensions: ["z"],
            mediaTypes: ["application/x-compress"]
        ),
    ]
}
