import Testing

@testable import Core

@Suite struct CommandPolicyTests {
    struct Commands: Sendable {
        var pause: CommandOutcome
        var resume: CommandOutcome
        var cancel: CommandOutcome
        var remove: CommandOutcome
    }

    private static let toPause = CommandOutcome.change(DownloadStatus(.paused, reason: .user))
    private static let toQueue = CommandOutcome.change(DownloadStatus(.queued))
    private static let toCancel = CommandOutcome.change(DownloadStatus(.canceled))
    private static let running = Commands(pause: toPause, resume: .unchanged, cancel: toCancel, remove: .invalid)

    @Test(
        arguments: [
            Row("queued", .queued, running),
            Row("active", .active, running),
            Row("waiting", .waiting, Commands(pause: toPause, resume: toQueue, cancel: toCancel, remove: .invalid)),
            Row("paused", .paused, Commands(pause: .unchanged, resume: toQueue, cancel: toCancel, remove: .invalid)),
            Row("failed", .failed, Commands(pause: .invalid, resume: toQueue, cancel: toCancel, remove: .gone)),
            Row(
                "completed", .completed, Commands(pause: .invalid, resume: .unchanged, cancel: .invalid, remove: .gone)),
            Row("canceled", .canceled, Commands(pause: .invalid, resume: .invalid, cancel: .unchanged, remove: .gone)),
        ] as [Row<DownloadState, Commands>])
    func `commands do what the protocol's table says`(row: Row<DownloadState, Commands>) {
        #expect(CommandPolicy.outcome(of: .pause, in: row.input) == row.expected.pause)
        #expect(CommandPolicy.outcome(of: .resume, in: row.input) == row.expected.resume)
        #expect(CommandPolicy.outcome(of: .cancel, in: row.input) == row.expected.cancel)
        #expect(CommandPolicy.outcome(of: .remove, in: row.input) == row.expected.remove)
    }

    @Test(arguments: DownloadState.allCases, DownloadCommand.allCases)
    func `a command given twice changes nothing the second time`(_ state: DownloadState, _ command: DownloadCommand) {
        guard case .change(let status) = CommandPolicy.outcome(of: command, in: state) else { return }
        #expect(CommandPolicy.outcome(of: command, in: status.state) == .unchanged)
    }
}
