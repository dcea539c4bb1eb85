internal import Platform
internal import RPC

/// When and with which code the process ends: only the rules, as a value type.
///
/// The session reports events to it and performs the actions that it returns.
struct LifeCycle: Sendable {
    /// How the exit code is chosen.
    enum Verdict: Equatable, Sendable {
        case code(Int32)
        /// 0 if all downloads of the session completed and no request got an error, else 1.
        case byOutcome
    }

    /// What to do now.
    enum Action: Equatable, Sendable {
        case nothing
        /// Stop all downloads, keep their bytes, then end.
        case checkpoint(Verdict)
        /// Continue until the session's downloads are settled, then end.
        case drain(Verdict, isMuted: Bool)
    }

    private let policy: HostExitPolicy?
    private(set) var isInitialized = false
    /// `shutdown` was received.
    private(set) var isShutDown = false
    /// `exit` was received: later requests are not performed.
    private(set) var isExiting = false
    /// Nil until the first input: nothing is written before.
    private(set) var framing: Framing?
    /// The last decision, if there was one.
    private var decided = Action.nothing

    init(policy: HostExitPolicy?) {
        self.policy = policy
    }

    mutating func initialize() { isInitialized = true }

    mutating func shutDown() { isShutDown = true }

    mutating func useFraming(_ framing: Framing) { self.framing = framing }

    /// The end of input: of a pipeline, or of a host that has exited.
    ///
    /// - Parameter hasBackground: a download started with `background` still runs.
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

    /// The watched process has exited, or standard output was closed by its reader.
    mutating func hostGone(hasBackground: Bool) -> Action {
        switch decided {
        case .nothing, .drain(_, isMuted: false):
            // After `shutdown` the host may close its end before we have read its `exit`.
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
    /// - Parameter hasBackground: a download started with `background` still runs.
    mutating func exit(hasBackground: Bool) -> Action {
        isExiting = true
        let verdict = Verdict.code(isShutDown ? ExitCode.success : ExitCode.failure)
        guard hasBackground else { return end(verdict) }
        return decided == .nothing ? decide(.drain(verdict, isMuted: true)) : .nothing
    }

    /// Input or output failed permanently.
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
