import Platform
import RPC
import Testing

@testable import Service

@Suite struct LifeCycleTests {
    private func life(
        _ policy: HostExitPolicy? = nil,
        isInitialized: Bool = false,
        isShutDown: Bool = false,
        framing: Framing = .line
    ) -> LifeCycle {
        var life = LifeCycle(policy: policy)
        life.useFraming(framing)
        if isInitialized { life.initialize() }
        if isShutDown { life.shutDown() }
        return life
    }

    @Test func `the end of a pipeline lets its downloads settle`() {
        var life = life()
        #expect(life.endOfInput(hasBackground: false) == .drain(.byOutcome, isMuted: false))
    }

    @Test func `suspend ends a pipeline at once`() {
        var life = life(.suspend)
        #expect(life.endOfInput(hasBackground: false) == .checkpoint(.byOutcome))
    }

    @Test(arguments: [
        (Framing.line, true, false, Int32(0)), (.line, true, true, 0), (.header, false, false, 1),
        (.header, true, false, 1), (.header, true, true, 0),
    ])
    func `the end of a host's input ends the process promptly`(
        framing: Framing,
        isInitialized: Bool,
        isShutDown: Bool,
        code: Int32
    ) {
        var life = life(isInitialized: isInitialized, isShutDown: isShutDown, framing: framing)
        #expect(life.endOfInput(hasBackground: false) == .checkpoint(.code(code)))
    }

    @Test func `with finish, or a background download, a host's end is survived in silence`() {
        var finishing = life(.finish, isInitialized: true)
        #expect(finishing.endOfInput(hasBackground: false) == .drain(.code(0), isMuted: true))
        var background = life(isInitialized: true)
        #expect(background.endOfInput(hasBackground: true) == .drain(.code(0), isMuted: true))
        var gone = life(.finish)
        #expect(gone.hostGone(hasBackground: false) == .drain(.code(141), isMuted: true))
    }

    @Test func `no reader ends the process with 141, even in the middle of a drain`() {
        var life = life()
        _ = life.endOfInput(hasBackground: false)
        #expect(life.hostGone(hasBackground: false) == .checkpoint(.code(141)))
        #expect(life.hostGone(hasBackground: false) == .nothing)
    }

    @Test(arguments: EndSignal.allCases)
    func `a signal ends the process whatever it is at`(signal: EndSignal) {
        var running = life()
        #expect(running.signal(signal) == .checkpoint(.code(128 + signal.rawValue)))
        var draining = life(.finish, isInitialized: true)
        _ = draining.endOfInput(hasBackground: false)
        #expect(draining.signal(signal) == .checkpoint(.code(128 + signal.rawValue)))
        #expect(draining.signal(signal) == .nothing)
    }

    @Test func `exit ends with 0 after shutdown, else with 1`() {
        var orderly = life(isShutDown: true)
        #expect(orderly.exit(hasBackground: false) == .checkpoint(.code(0)))
        var hasty = life()
        #expect(hasty.exit(hasBackground: false) == .checkpoint(.code(1)))
        #expect(hasty.endOfInput(hasBackground: false) == .nothing)
    }
}
