/// Rules for paths from the wire or the command line; they work on text only, without the file system.
package enum Paths {
    /// The absolute path without `.`, `..` and double slashes; nil if it is empty or contains a NUL.
    ///
    /// Because only the text counts, `a/../b` is `b` even if `a` is a symbolic link.
    package static func normalized(_ path: String, relativeTo directory: String) -> String? {
        if path.isEmpty || path.utf8.contains(0) { return nil }
        let whole = path.utf8.first == slash ? path : directory + "/" + path
        var parts: [Substring.UTF8View] = []
        for part in whole.utf8.split(separator: slash) {
            if part.elementsEqual(".".utf8) { continue }
            if part.elementsEqual("..".utf8) { _ = parts.popLast() } else { parts.append(part) }
        }
        return "/" + parts.map { String(Substring($0)) }.joined(separator: "/")
    }

    /// True for the name of one component that is not `.` or `..`.
    package static func isComponent(_ name: String) -> Bool {
        let bytes = name.utf8
        return !bytes.isEmpty && !bytes.contains(slash) && !bytes.contains(0) && name != "." && name != ".."
    }

    /// True when the path can only mean a directory: it ends in a slash, or its last component is `.` or `..`.
    package static func namesDirectory(_ path: String) -> Bool {
        let last = path.utf8.lastIndex(of: slash).map { path.utf8[path.utf8.index(after: $0)...] } ?? path.utf8[...]
        return last.isEmpty || last.elementsEqual(".".utf8) || last.elementsEqual("..".utf8)
    }

    private static let slash = UInt8(ascii: "/")
}
