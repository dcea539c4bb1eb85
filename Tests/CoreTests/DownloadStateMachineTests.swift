import Testing

@testable import Core

@Suite struct DownloadStateMachineTests {
    private static let queued = DownloadStatus(.queued)
    private static let active = DownloadPhase.allCases.map { DownloadStatus(.active, phase: $0) }
    private static let waiting = WaitReason.allCases.map { DownloadStatus(.waiting, reason: $0.stateReason) }
    private static let byUser = DownloadStatus(.paused, reason: .user)
    private static let interrupted = DownloadStatus(.paused, reason: .interrupted)
    private static let failed = DownloadStatus(.failed)
    private static let completed = DownloadStatus(.completed)
    private static let canceled = DownloadStatus(.canceled)
    private static let everyStatus =
        [queued] + active + waiting + [byUser, interrupted, failed, completed, canceled]
    private static let everyEvent: [DownloadEvent] =
        [
            .slotGranted, .slotWithdrawn, .responseAccepted, .transferRestarted, .allBytesWritten(hasChecksum: true),
            .allBytesWritten(hasChecksum: false), .verified, .finalized, .retryDue, .sourceReplaced, .failed,
            .interrupted,
        ] + WaitReason.allCases.map(DownloadEvent.mustWait)

    struct Commands: Sendable {
        var pause: CommandOutcome
        var resume: CommandOutcome
        var cancel: CommandOutcome
        var remove: CommandOutcome
    }

    private static let toPause = CommandOutcome.change(byUser)
    private static let toQueue = CommandOutcome.change(queued)
    private static let toCancel = CommandOutcome.change(canceled)
    private static let running = Commands(pause: toPause, resume: .unchanged, cancel: toCancel, remove: .invalid)
    private static let held = Commands(pause: .unchanged, resume: toQueue, cancel: toCancel, remove: .invalid)

    @Test(
        arguments: [
            Row("queued", [queued], running),
            Row("active", active, running),
            Row("waiting", waiting, Commands(pause: toPause, resume: toQueue, cancel: toCancel, remove: .invalid)),
            Row("paused", [byUser, interrupted], held),
            Row("failed", [failed], Commands(pause: .invalid, resume: toQueue, cancel: toCancel, remove: .gone)),
            Row(
                "completed", [completed], Commands(pause: .invalid, resume: .unchanged, cancel: .invalid, remove: .gone)
            ),
            Row("canceled", [canceled], Commands(pause: .invalid, resume: .invalid, cancel: .unchanged, remove: .gone)),
        ] as [Row<[DownloadStatus], Commands>])
    func `commands do what the protocol's table says`(row: Row<[DownloadStatus], Commands>) {
        for status in row.input {
            #expect(DownloadStateMachine.apply(.pause, to: status) == row.expected.pause)
            #expect(DownloadStateMachine.apply(.resume, to: status) == row.expected.resume)
            #expect(DownloadStateMachine.apply(.cancel, to: status) == row.expected.cancel)
            #expect(DownloadStateMachine.apply(.remove, to: status) == row.expected.remove)
        }
    }

    private static func phase(_ phase: DownloadPhase) -> DownloadStatus { DownloadStatus(.active, phase: phase) }

    /// Every move there is; all else is ignored.
    private static let moves: [DownloadStatus: [DownloadEvent: DownloadStatus]] = {
        var table: [DownloadStatus: [DownloadEvent: DownloadStatus]] = [:]
        for status in [queued] + active + waiting {
            table[status, default: [:]][.failed] = failed
            table[status, default: [:]][.interrupted] = interrupted
        }
        table[queued]?[.slotGranted] = phase(.connecting)
        for status in active {
            for reason in WaitReason.allCases {
                table[status]?[.mustWait(reason)] = DownloadStatus(.waiting, reason: reason.stateReason)
            }
        }
        for status in [phase(.connecting), phase(.downloading)] {
            table[status]?[.slotWithdrawn] = queued
            table[status]?[.allBytesWritten(hasChecksum: true)] = phase(.verifying)
            table[status]?[.allBytesWritten(hasChecksum: false)] = phase(.finalizing)
        }
        table[phase(.connecting)]?[.responseAccepted] = phase(.downloading)
        table[phase(.downloading)]?[.transferRestarted] = phase(.connecting)
        table[phase(.verifying)]?[.transferRestarted] = phase(.connecting)
        table[phase(.verifying)]?[.verified] = phase(.finalizing)
        table[phase(.finalizing)]?[.finalized] = completed
        for status in waiting {
            table[status]?[.sourceReplaced] = queued
            if status.reason != .needsUrl { table[status]?[.retryDue] = queued }
            for reason in WaitReason.allCases where reason.stateReason != status.reason {
                table[status]?[.mustWait(reason)] = DownloadStatus(.waiting, reason: reason.stateReason)
            }
        }
        return table
    }()

    @Test(arguments: everyStatus)
    func `events move as the table says, and are ignored elsewhere`(status: DownloadStatus) {
        for event in Self.everyEvent {
            #expect(
                DownloadStateMachine.apply(event, to: status) == Self.moves[status]?[event], "\(event) in \(status)")
        }
    }

    @Test(arguments: [1, 2] as [UInt64])
    func `random events and commands keep state, reason and phase in agreement`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var status = Self.queued
        for _ in 0..<3_000 {
            if Int.random(in: 0..<4, using: &generator) == 0 {
                let command = DownloadCommand.allCases.randomElement(using: &generator) ?? .resume
                switch DownloadStateMachine.apply(command, to: status) {
                case .change(let next):
                    #expect(next != status)
                    status = next
                case .gone: status = Self.queued
                case .unchanged, .invalid: break
                }
            } else if let event = Self.everyEvent.randomElement(using: &generator),
                let next = DownloadStateMachine.apply(event, to: status)
            {
                #expect(next != status)
                #expect(!status.state.isFinal)
                status = next
            }
            #expect(Self.everyStatus.contains(status))
        }
    }
}
