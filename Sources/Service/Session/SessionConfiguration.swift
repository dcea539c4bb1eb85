package import Core

/// What a session is told when it is made.
package struct SessionConfiguration: Sendable {
    /// The program's.
    package var version: String
    /// Names and versions of the libraries in use, in the order in which `info` shows them.
    package var libraries: [(name: String, version: String)]
    /// Absolute; for `info` alone.
    package var stateDirectory: String
    /// What relative paths start from; absolute.
    package var workingDirectory: String
    /// Where destinations must lie.
    package var scope: PathScope
    /// Nil: what the protocol says for each way of losing the host.
    package var hostExitPolicy: HostExitPolicy?
    /// Interrupted downloads go on without being asked.
    package var resumesOnStart: Bool
    /// Tells this session's events from another's.
    package var name: String
    /// This process's.
    package var processID: Int64

    /// All of it.
    package init(
        version: String,
        libraries: [(name: String, version: String)],
        stateDirectory: String,
        workingDirectory: String,
        scope: PathScope,
        hostExitPolicy: HostExitPolicy?,
        resumesOnStart: Bool,
        name: String,
        processID: Int64
    ) {
        self.version = version
        self.libraries = libraries
        self.stateDirectory = stateDirectory
        self.workingDirectory = workingDirectory
        self.scope = scope
        self.hostExitPolicy = hostExitPolicy
        self.resumesOnStart = resumesOnStart
        self.name = name
        self.processID = processID
    }
}
