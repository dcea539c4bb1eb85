package import Core

/// The configuration of a session.
package struct SessionConfiguration: Sendable {
    /// The version of the program.
    package var version: String
    /// Names and versions of the libraries, in the order of `info`.
    package var libraries: [(name: String, version: String)]
    /// Absolute; only for `info`.
    package var stateDirectory: String
    /// The base of relative paths; absolute.
    package var workingDirectory: String
    /// Where destinations must be.
    package var scope: PathScope
    /// Nil: the protocol decides, depending on how the host was lost.
    package var hostExitPolicy: HostExitPolicy?
    /// Interrupted downloads are resumed without a request.
    package var resumesOnStart: Bool
    /// Identifies this session in its events.
    package var name: String
    /// The id of this process.
    package var processID: Int64

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
