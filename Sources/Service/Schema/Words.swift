internal import Core
internal import Engine
internal import RPC

/// The lists of words of the protocol, each with a name in the document.
///
/// A parameter takes only these; in answers and events later 1.x versions may add words (`Schema.open`).
enum Words {
    static let downloadState = Component("DownloadState", "State of a download.", DownloadState.self)
    static let stateReason = Component("StateReason", "Why a download waits or is paused.", StateReason.self)
    static let downloadPhase = Component("DownloadPhase", "What an active download does.", DownloadPhase.self)
    static let ownership = Component("Ownership", "Which process owns a download.", Ownership.self)
    static let transferMode = Component("TransferMode", "How a transfer began.", TransferOrigin.Mode.self)
    static let transferWhy = Component(
        "TransferWhy", "Why received bytes could not be used, or no transfer was needed.", TransferOrigin.Why.self)
    static let identityProof = Component(
        "IdentityProof", "Proof that bytes belong to the same file.", IdentityProof.self)
    static let failureKind = Component("FailureKind", "Why a download failed.", FailureKind.self)
    static let errorKind = Component("ErrorKind", "Why a request failed.", RPCErrorKind.self)
    static let checksumAlgorithm = Component(
        "ChecksumAlgorithm", "How a digest is computed.", Checksum.Algorithm.self)
    static let ifExists = Component("IfExists", "What to do if the destination exists.", IfExists.self)
    static let onChange = Component("OnChange", "What to do if the server's file changed.", OnChange.self)
    static let resumePolicy = Component(
        "ResumePolicy", "How much proof a resume needs that the file is the same.", ResumePolicy.self)
    static let eventSelection = Component(
        "EventSelection", "Which events to send without a subscription.", EventSelection.self)
    static let waitGoal = Component("WaitGoal", "What a wait waits for.", Wait.Goal.self)
    static let shutdownMode = Component("ShutdownMode", "What shutdown does with downloads.", ShutdownMode.self)
    static let eventName = Component("EventName", "Events to subscribe to.", .choice(["changed", "progress"]))
    static let workDoneKind = Component(
        "WorkDoneKind", "Stage of a wait, as in the Language Server Protocol.", .choice(["begin", "report", "end"]))
    static let downloadField = Component(
        "DownloadField", "A member of Download.", .choice(Components.downloadMembers.map(\.name)))
}

extension Component {
    fileprivate init<Choice: RawRepresentable<String> & CaseIterable>(
        _ name: String, _ description: String, _ type: Choice.Type
    ) {
        self.init(name, description, .choice(type.allCases.map(\.rawValue)))
    }
}
