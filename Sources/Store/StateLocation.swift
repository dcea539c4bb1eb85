internal import Platform

/// Where the state of an application is stored.
package enum StateLocation: Equatable, Sendable {
    /// A given directory, absolute or relative to the working directory.
    case directory(String)
    /// The directory of an application below the user's state home.
    case application(String)

    package static let maxApplicationNameByteCount = 64

    /// The absolute path of the directory; it need not exist.
    ///
    /// `$XDG_STATE_HOME`, else `$HOME/.local/state`, else the same below the home in the user database; a relative
    /// value counts as unset (XDG Base Directory Specification).
    package func path(
        environment: (String) -> String? = { environmentVariable($0) },
        userHome: () -> String? = { homeDirectoryFromUserDatabase() }
    ) throws(StateDirectoryError) -> String {
        switch self {
        case .directory(let path):
            if path.utf8.first == UInt8(ascii: "/") { return path }
            do throws(Errno) {
                return try currentDirectory() + "/" + path
            } catch {
                throw StateDirectoryError(path: path, doing: "find the working directory for", error)
            }
        case .application(let name):
            guard Self.isApplicationName(name) else {
                let rule = "letters, digits, '.', '_' and '-', at most \(Self.maxApplicationNameByteCount)"
                throw StateDirectoryError(
                    .badApplicationName, path: name, "'\(name)' is not an application name: use \(rule)")
            }
            return try Self.stateHome(environment, userHome) + "/towline/" + name
        }
    }

    /// Where the user's key for resume data is stored, for all applications; nil if no home directory is known.
    package static func resumeKeyPath(
        environment: (String) -> String? = { environmentVariable($0) },
        userHome: () -> String? = { homeDirectoryFromUserDatabase() }
    ) -> String? {
        // No application name begins with a dot.
        (try? stateHome(environment, userHome)).map { $0 + "/towline/.resume-key" }
    }

    private static func stateHome(
        _ environment: (String) -> String?,
        _ userHome: () -> String?
    ) throws(StateDirectoryError) -> String {
        if let home = absolute(environment("XDG_STATE_HOME")) { return home }
        if let home = absolute(environment("HOME")) ?? absolute(userHome()) {
            return (home == "/" ? "" : home) + "/.local/state"
        }
        throw StateDirectoryError(
            .noHomeDirectory,
            path: "",
            "neither XDG_STATE_HOME, HOME nor the user database names a home directory; use --state-dir"
        )
    }

    private static func absolute(_ path: String?) -> String? {
        guard let path, path.utf8.first == UInt8(ascii: "/") else { return nil }
        return path
    }

    private static func isApplicationName(_ name: String) -> Bool {
        let bytes = name.utf8
        guard let first = bytes.first, bytes.count <= maxApplicationNameByteCount, isWordByte(first) else {
            return false
        }
        return bytes.allSatisfy {
            isWordByte($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
        }
    }

    private static func isWordByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }
}
