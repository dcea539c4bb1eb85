package import Platform

/// What the process can end with.
package enum ExitCode {
    /// All that was asked was done.
    package static let success: Int32 = 0
    /// A download did not complete, a request got an error, or a host went without `shutdown`.
    package static let failure: Int32 = 1
    /// A command line that cannot be followed.  C: EX_USAGE, sysexits.h, as those below
    package static let usage: Int32 = 64
    /// Input that cannot be taken apart into messages.
    package static let unreadableInput: Int32 = 65
    /// The system refuses a thread, or a library does not start.
    package static let internalError: Int32 = 70
    /// The state directory cannot be made, locked or read.
    package static let stateDirectoryUnusable: Int32 = 73
    /// Standard input cannot be read, or standard output not written.
    package static let inputOutput: Int32 = 74
    /// An environment variable has a value that means nothing.
    package static let badConfiguration: Int32 = 78
    /// The host has gone: what a shell says of a process that SIGPIPE ended.
    package static let noReader: Int32 = 141

    /// What a shell says of a process that this signal ended.
    package static func signal(_ signal: EndSignal) -> Int32 { 128 + signal.rawValue }
}
