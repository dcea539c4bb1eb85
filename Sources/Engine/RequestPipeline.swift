/// Requests in the order of arrival, so that each sees the effects of earlier ones.
///
/// Starts are processed together (the store decides their records in order). Every other request waits until the
/// earlier starts are decided, and until a step that needs the store or the disk has ended.
struct RequestPipeline {
    enum Step {
        /// Begins a start; ends with `startEnded`.
        case start(() -> Void)
        /// Runs alone; delays later steps if it calls `block`.
        case run(() -> Void)
    }
    private var steps: [Step] = []
    private var head = 0
    private(set) var startsInFlight = 0
    private var blockers = 0

    var isIdle: Bool { head == steps.count && startsInFlight == 0 && blockers == 0 }

    mutating func append(_ step: Step) {
        steps.append(step)
    }

    var hasReadyStep: Bool {
        guard head < steps.count, blockers == 0 else { return false }
        if case .run = steps[head] { return startsInFlight == 0 }
        return true
    }

    /// The next step that may begin now.
    mutating func popReady() -> Step? {
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

    mutating func startEnded() {
        startsInFlight -= 1
    }

    mutating func block() {
        blockers += 1
    }

    mutating func unblock() {
        blockers -= 1
    }
}
