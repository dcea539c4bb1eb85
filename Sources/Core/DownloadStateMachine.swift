/// Where a download stands, as the wire shows it.
package struct DownloadStatus: Equatable, Hashable, Sendable {
    /// The state proper.
    package var state: DownloadState
    /// Only while waiting or paused.
    package var reason: StateReason?
    /// Only while active.
    package var phase: DownloadPhase?

    package init(_ state: DownloadState, reason: StateReason? = nil, phase: DownloadPhase? = nil) {
        self.state = state
        self.reason = reason
        self.phase = phase
    }
}

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

/// Why a download has to wait.
package enum WaitReason: String, Sendable, CaseIterable {
    case retry
    case rateLimited
    case offline
    case diskFull
    case needsUrl

    /// The same, among all reasons.
    package var stateReason: StateReason {
        switch self {
        case .retry: .retry
        case .rateLimited: .rateLimited
        case .offline: .offline
        case .diskFull: .diskFull
        case .needsUrl: .needsUrl
        }
    }
}

/// What happened to a download.
package enum DownloadEvent: Equatable, Hashable, Sendable {
    /// Its turn in the queue came.
    case slotGranted
    /// Its slot went to somebody more urgent, or there are fewer now.
    case slotWithdrawn
    /// The gate accepted a body.
    case responseAccepted
    /// A new request begins from the first byte of the file, or of a gap: after a restart, a checksum's included.
    case transferRestarted
    /// The last byte is written.
    case allBytesWritten(hasChecksum: Bool)
    /// The digest is right.
    case verified
    /// The file has its name, and that is durable.
    case finalized
    /// A failure that is waited out.
    case mustWait(WaitReason)
    /// The wait is over, or what was waited for has come.
    case retryDue
    /// A new URL or new headers were given.
    case sourceReplaced
    /// A failure that only a new attempt can mend.
    case failed
    /// The process that ran it ends, or ended.
    case interrupted
}

/// The one state machine: what commands and events do in each state, and nothing else.
package enum DownloadStateMachine {
    /// The protocol's table of commands.
    ///
    /// The caller sets the intent whatever the outcome: a pause of an interrupted download changes nothing here, and
    /// still means that it is not to go on by itself.
    package static func apply(_ command: DownloadCommand, to status: DownloadStatus) -> CommandOutcome {
        switch command {
        case .pause:
            switch status.state {
            case .queued, .active, .waiting: .change(DownloadStatus(.paused, reason: .user))
            case .paused: .unchanged
            case .failed, .completed, .canceled: .invalid
            }
        case .resume:
            switch status.state {
            case .queued, .active, .completed: .unchanged
            case .waiting, .paused, .failed: .change(DownloadStatus(.queued))
            case .canceled: .invalid
            }
        case .cancel:
            switch status.state {
            case .queued, .active, .waiting, .paused, .failed: .change(DownloadStatus(.canceled))
            case .completed: .invalid
            case .canceled: .unchanged
            }
        case .remove:
            switch status.state {
            case .queued, .active, .waiting, .paused: .invalid
            case .failed, .completed, .canceled: .gone
            }
        }
    }

    /// Where an event leads; nil when it comes too late or changes nothing, and is to be ignored.
    package static func apply(_ event: DownloadEvent, to status: DownloadStatus) -> DownloadStatus? {
        switch status.state {
        case .queued: queued(event)
        case .active: active(event, status.phase ?? .connecting)
        case .waiting: waiting(event, status.reason)
        case .paused, .failed, .completed, .canceled: nil
        }
    }

    private static func queued(_ event: DownloadEvent) -> DownloadStatus? {
        switch event {
        case .slotGranted: DownloadStatus(.active, phase: .connecting)
        case .failed: DownloadStatus(.failed)
        case .interrupted: DownloadStatus(.paused, reason: .interrupted)
        case .slotWithdrawn, .responseAccepted, .transferRestarted, .allBytesWritten, .verified, .finalized, .mustWait,
            .retryDue, .sourceReplaced:
            nil
        }
    }

    private static func active(_ event: DownloadEvent, _ phase: DownloadPhase) -> DownloadStatus? {
        switch event {
        case .slotWithdrawn:
            isTransferring(phase) ? DownloadStatus(.queued) : nil
        case .responseAccepted:
            phase == .connecting ? DownloadStatus(.active, phase: .downloading) : nil
        case .transferRestarted:
            phase == .connecting || phase == .finalizing ? nil : DownloadStatus(.active, phase: .connecting)
        case .allBytesWritten(let hasChecksum):
            isTransferring(phase) ? DownloadStatus(.active, phase: hasChecksum ? .verifying : .finalizing) : nil
        case .verified:
            phase == .verifying ? DownloadStatus(.active, phase: .finalizing) : nil
        case .finalized:
            phase == .finalizing ? DownloadStatus(.completed) : nil
        case .mustWait(let reason):
            DownloadStatus(.waiting, reason: reason.stateReason)
        case .failed:
            DownloadStatus(.failed)
        case .interrupted:
            DownloadStatus(.paused, reason: .interrupted)
        case .slotGranted, .retryDue, .sourceReplaced:
            nil
        }
    }

    private static func waiting(_ event: DownloadEvent, _ reason: StateReason?) -> DownloadStatus? {
        switch event {
        // No time mends a link that ran out.
        case .retryDue: reason == .needsUrl ? nil : DownloadStatus(.queued)
        case .sourceReplaced: DownloadStatus(.queued)
        case .failed: DownloadStatus(.failed)
        case .interrupted: DownloadStatus(.paused, reason: .interrupted)
        case .mustWait(let next):
            // While it waits the cause may turn out to be another: a retry that finds no network.
            next.stateReason == reason ? nil : DownloadStatus(.waiting, reason: next.stateReason)
        case .slotGranted, .slotWithdrawn, .responseAccepted, .transferRestarted, .allBytesWritten, .verified,
            .finalized:
            nil
        }
    }

    /// True in the phases that need a slot.
    private static func isTransferring(_ phase: DownloadPhase) -> Bool {
        switch phase {
        case .connecting, .downloading: true
        case .verifying, .finalizing: false
        }
    }
}
