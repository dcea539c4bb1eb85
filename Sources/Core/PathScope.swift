/// The directories that files may lie in, as text: nothing is looked up.
///
/// Whether a path really leads there only the file workers can tell, who resolve it by descriptor.
package struct PathScope: Equatable, Sendable {
    /// One directory that everything in it may be used of.
    package struct Root: Equatable, Sendable {
        /// As it was named; absolute and normalised.
        package var path: String
        /// The same directory with no symbolic link on the way.
        package var realPath: String

        package init(path: String, realPath: String) {
            self.path = path
            self.realPath = realPath
        }
    }
    /// Empty: anywhere.
    package let roots: [Root]

    package static let anywhere = PathScope([])

    /// A root that is `/` allows everything.
    package init(_ roots: [Root]) {
        self.roots = roots.contains { $0.realPath == "/" } ? [] : roots
    }

    /// True when nothing is ruled out.
    package var isAnywhere: Bool { roots.isEmpty }

    /// True when the path is one of the roots or lies below it.
    package func contains(_ path: String) -> Bool {
        isAnywhere || locate(path) != nil
    }

    /// The deepest root that the path lies in, and the rest of the path below it, empty for the root itself; nil when it
    /// lies in none, or may leave it by `..`.
    package func locate(_ path: String) -> (root: Root, rest: String)? {
        let slash = UInt8(ascii: "/")
        if path.utf8.split(separator: slash).contains(where: { $0.elementsEqual("..".utf8) }) { return nil }
        var best: (root: Root, rest: String, depth: Int)?
        for root in roots {
            for name in [root.path, root.realPath] where name.utf8.count > best?.depth ?? -1 {
                guard path.utf8.starts(with: name.utf8) else { continue }
                let rest = path.utf8.dropFirst(name.utf8.count)
                guard rest.isEmpty || rest.first == slash else { continue }
                best = (root, String(Substring(rest.drop { $0 == slash })), name.utf8.count)
            }
        }
        return best.map { ($0.root, $0.rest) }
    }
}

extension String {
    /// The path of the directory that holds what this path names; `.` where it names none.
    package var parentDirectory: String {
        guard let slash = utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == startIndex ? "/" : String(self[..<slash])
    }
}
