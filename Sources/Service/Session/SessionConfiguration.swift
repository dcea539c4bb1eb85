/// What a session is told when it is made.
package struct SessionConfiguration: Sendable {
    package var version: String
    /// Names and versions of the libraries in use, in the order in which `info` shows them.
    package var libraries: [(name: String, version: String)]
    package var stateDirectory: String
    /// What relative paths start from; absolute.
    package var workingDirectory: String
    /// Destinations must be in one of these, absolute and normalised; empty: anywhere.
    package var roots: [String]
    package var hostExitPolicy: HostExitPolicy?
    package var resumesOnStart: Bool
    /// Tells this session's events from another's.
    package var name: String
    package var processID: Int64

    package init(
        version: String,
        libraries: [(name: String, version: String)],
        stateDirectory: String,
        workingDirectory: String,
        roots: [String],
        hostExitPolicy: HostExitPolicy?,
        resumesOnStart: Bool,
        name: String,
        processID: Int64
    ) {
        self.version = version
        self.libraries = libraries
        self.stateDirectory = stateDirectory
        self.workingDirectory = workingDirectory
        self.roots = roots
        self.hostExitPolicy = hostExitPolicy
        self.resumesOnStart = resumesOnStart
        self.name = name
        self.processID = processID
    }
}
