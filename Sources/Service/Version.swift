/// The program's own version, by semver.
package enum Version {
    /// As `--version` and `info` show it.
    package static let text = "0.1.0"
}
