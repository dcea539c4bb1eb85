package import Platform

/// The exit codes of the process.
package enum ExitCode {
    /// Everything requested was done.
    package static let success: Int32 = 0
    /// A download did not complete, a request failed, or the host exited without `shutdown`.
    package static let failure: Int32 = 1
    /// An invalid command line.  C: EX_USAGE in sysexits.h, like those below
    package static let usage: Int32 = 64
    /// Input that cannot be split into messages.
    package static let unreadableInput: Int32 = 65
    /// A thread cannot be created, or a library cannot be initialized.
    package static let internalError: Int32 = 70
    /// The state directory cannot be created, locked or read.
    package static let stateDirectoryUnusable: Int32 = 73
    /// Standard input cannot be read, or standard output cannot be written.
    package static let inputOutput: Int32 = 74
    /// An environment variable has an invalid value.
    package static let badConfiguration: Int32 = 78
    /// The host has exited: the status that a shell reports for a process killed by SIGPIPE.
    package static let noReader: Int32 = 141

    /// The status that a shell reports for a process killed by this signal.
    package static func signal(_ signal: EndSignal) -> Int32 { 128 + signal.rawValue }
}
