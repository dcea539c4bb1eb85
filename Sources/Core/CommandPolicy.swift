/// What somebody asks of a download.
package enum DownloadCommand: String, Sendable, CaseIterable {
    case pause
    case resume
    case cancel
    case remove
}

/// What becomes of a command.
package enum CommandOutcome: Equatable, Sendable {
    /// Success, and nothing to do.
    case unchanged
    case change(DownloadStatus)
    /// The record goes.
    case gone
    /// Not in this state.
    case invalid
}

/// What commands do in each state.
package enum CommandPolicy {
    /// The protocol's table of commands.
    ///
    /// A pause of an interrupted download changes its reason alone, which is the caller's to see to.
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
