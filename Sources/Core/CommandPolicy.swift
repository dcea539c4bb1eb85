/// A command for one download.
package enum DownloadCommand: String, Sendable, CaseIterable {
    case pause
    case resume
    case cancel
    case remove
}

/// The effect of a command.
package enum CommandOutcome: Equatable, Sendable {
    /// Succeeds without a change.
    case unchanged
    case change(DownloadStatus)
    /// The record is deleted.
    case gone
    /// The command is not allowed in this state.
    case invalid
}

/// What commands do in each state.
package enum CommandPolicy {
    /// The protocol's table of commands.
    ///
    /// A pause of an interrupted download changes only its reason; the caller does that.
    package static func outcome(of command: DownloadCommand, in state: DownloadState) -> CommandOutcome {
        switch command {
        case .pause:
            switch state {
            case .queued, .active, .waiting: .change(DownloadStatus(.paused, reason: .user))
            case .paused: .unchanged
            case .failed, .completed, .canceled: .invalid
            }
        case .resume:
            switch state {
            case .queued, .active, .completed: .unchanged
            case .waiting, .paused, .failed: .change(DownloadStatus(.queued))
            case .canceled: .invalid
            }
        case .cancel:
            switch state {
            case .queued, .active, .waiting, .paused, .failed: .change(DownloadStatus(.canceled))
            case .completed: .invalid
            case .canceled: .unchanged
            }
        case .remove:
            switch state {
            case .queued, .active, .waiting, .paused: .invalid
            case .failed, .completed, .canceled: .gone
            }
        }
    }
}
