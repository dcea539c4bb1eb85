internal import Platform
internal import RPC

/// When and with what code the process ends: the rules alone, as a value.
///
/// The session tells it what happened and does what it answers.
struct LifeCycle: Sendable {
    /// How the exit code comes about.
    enum Verdict: Equatable, Sendable {
        case code(Int32)
        /// 0 if all downloads of the session completed and no request got an error, else 1.
        case byOutcome
    }

    /// What to do now.
    enum Action: Equatable, Sendable {
        case nothing
        /// Let go of all downloads, keeping their bytes, then end.
        case checkpoint(Verdict)
        /// Go on until the session's downloads have settled, then end.
        case drain(Verdict, isMuted: Bool)
    }

    private let policy: HostExitPolicy?
    private(set) var isInitialized = false
    /// `shutdown` was asked for.
    private(set) var isShutDown = false
    /// `exit` was sent: what comes behind it is not done any more.
    private(set) var isExiting = false
    /// Nil until the host has said something: nothing is written before.
    private(set) var framing: Framing?
    /// The last action, once there was one.
    private var decided = Action.nothing

    init(policy: HostExitPolicy?) {
        self.policy = policy
    }

    mutating func initialize() { isInitialized = true }

    mutating func shutDown() { isShutDown = true }

    mutating func useFraming(_ framing: Framing) { self.framing = framing }

    /// The end of input: a pipeline's, or a host's that has gone.
    ///
    /// - Parameter hasBackground: a download goes on that was started with `background`.
    mutating func endOfInput(hasBackground: Bool) -> Action {
        guard decided == .nothing else { return .nothing }
        if isInitialized || framing == .header {
            let code = isShutDown || framing != .header ? ExitCode.success : ExitCode.failure
            return hostEnded(.code(code), hasBackground: hasBackground)
        }
        if isShutDown { return decide(.drain(.code(ExitCode.success), isMuted: false)) }
        if policy == .suspend && !hasBackground { return decide(.checkpoint(.byOutcome)) }
        return decide(.drain(.byOutcome, isMuted: false))
    }

    /// The watched process has ended, or nobody reads our output.
    mutating func hostGone(hasBackground: Bool) -> Action {
        switch decided {
        case .nothing, .drain(_, isMuted: false):
            // After `shutdown` the host may well close its end before we have read its `exit`.
            let code = isShutDown ? ExitCode.success : ExitCode.noReader
            return hostEnded(.code(code), hasBackground: hasBackground)
        case .checkpoint, .drain: return .nothing
        }
    }

    mutating func signal(_ signal: EndSignal) -> Action {
        end(.code(ExitCode.signal(signal)))
    }

    /// The host sent `exit`.
    ///
    /// - Parameter hasBackground: a download goes on that was started with `background`.
    mutating func exit(hasBackground: Bool) -> Action {
        isExiting = true
        let verdict = Verdict.code(isShutDown ? ExitCode.success : ExitCode.failure)
        guard hasBackground else { return end(verdict) }
        return decided == .nothing ? decide(.drain(verdict, isMuted: true)) : .nothing
    }

    /// Input or output failed for good.
    mutating func fail(code: Int32) -> Action {
        end(.code(code))
    }

    private mutating func end(_ verdict: Verdict) -> Action {
        if case .checkpoint = decided { return .nothing }
        return decide(.checkpoint(verdict))
    }

    private mutating func hostEnded(_ verdict: Verdict, hasBackground: Bool) -> Action {
        let goesOn = policy == .finish || hasBackground
        return decide(goesOn ? .drain(verdict, isMuted: true) : .checkpoint(verdict))
    }

    private mutating func decide(_ action: Action) -> Action {
        decided = action
        return action
    }
}
