/// Requests in the order of arrival, so that each sees the effects of earlier ones.
///
/// Starts are processed together (the store decides their records in order). Every other request waits until the
/// earlier starts are decided, and until a step that needs the store or the disk has ended.
package struct RequestPipeline<Body> {
    package enum Step {
        /// Begins a start; ends with `startEnded`.
        case start(Body)
        /// Runs alone; delays later steps if it calls `block`.
        case run(Body)
    }
    private var steps: [Step] = []
    private var head = 0
    package private(set) var startsInFlight = 0
    private var blockers = 0

    /// Nothing is queued or in progress.
    package var isIdle: Bool { head == steps.count && startsInFlight == 0 && blockers == 0 }

    package init() {}

    package mutating func append(_ step: Step) {
        steps.append(step)
    }

    /// True when `popReady` has a step.
    package var hasReadyStep: Bool {
        guard head < steps.count, blockers == 0 else { return false }
        if case .run = steps[head] { return startsInFlight == 0 }
        return true
    }

    /// The next step that may begin now.
    package mutating func popReady() -> Step? {
        guard hasReadyStep else { return nil }
        let step = steps[head]
        if case .start = step { startsInFlight += 1 }
        head += 1
        if head == steps.count || head > 1_024 {
            steps.removeFirst(head)
            head = 0
        }
        return step
    }

    /// A start that `popReady` returned is decided.
    package mutating func startEnded() {
        startsInFlight -= 1
    }

    /// No step begins before `unblock` was called as often.
    package mutating func block() {
        blockers += 1
    }

    package mutating func unblock() {
        blockers -= 1
    }
}
