/// The directories that files may be in. Compares text only and touches no file.
///
/// Only the file workers, which resolve paths by descriptor, can tell where a path really leads.
package struct PathScope: Equatable, Sendable {
    /// A directory in which all files may be used.
    package struct Root: Equatable, Sendable {
        /// The path as given; absolute and normalised.
        package var path: String
        /// The same directory, with symbolic links resolved.
        package var realPath: String

        package init(path: String, realPath: String) {
            self.path = path
            self.realPath = realPath
        }
    }
    /// Empty: all directories are allowed.
    package let roots: [Root]

    package static let anywhere = PathScope([])

    /// The root `/` allows everything.
    package init(_ roots: [Root]) {
        self.roots = roots.contains { $0.realPath == "/" } ? [] : roots
    }

    package var isAnywhere: Bool { roots.isEmpty }

    /// True when the path is one of the roots or below it.
    package func contains(_ path: String) -> Bool {
        isAnywhere || locate(path) != nil
    }

    /// The deepest root that contains the path, and the rest of the path below it (empty for the root itself); nil when
    /// no root does, or when `..` may lead out of it.
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
    /// The directory part of the path; `.` when there is none.
    package var parentDirectory: String {
        guard let slash = utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == startIndex ? "/" : String(self[..<slash])
    }
}
