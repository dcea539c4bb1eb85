package import Platform

/// What the process can end with.
package enum ExitCode {
    package static let success: Int32 = 0
    /// A download did not complete, a request got an error, or a host went without `shutdown`.
    package static let failure: Int32 = 1
    package static let usage: Int32 = 64
    package static let unreadableInput: Int32 = 65
    package static let internalError: Int32 = 70
    package static let stateDirectoryUnusable: Int32 = 73
    package static let inputOutput: Int32 = 74
    package static let badConfiguration: Int32 = 78
    package static let noReader: Int32 = 141

    package static func signal(_ signal: EndSignal) -> Int32 { 128 + signal.rawValue }
}
