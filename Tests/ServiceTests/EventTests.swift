import Core
import Testing

@testable import Engine
@testable import Service

private func snapshot(
    _ id: String,
    _ state: DownloadState,
    _ reason: StateReason? = nil,
    phase: DownloadPhase? = nil,
    owner: Ownership = .`self`
) -> DownloadSnapshot {
    var snapshot = DownloadSnapshot.empty
    snapshot.id = id
    snapshot.state = state
    snapshot.reason = reason
    snapshot.phase = phase
    snapshot.owner = owner
    return snapshot
}

@Suite struct FollowedDownloadsTests {
    private func following(_ snapshots: DownloadSnapshot...) -> FollowedDownloads {
        var followed = FollowedDownloads()
        for snapshot in snapshots { followed.follow(snapshot, selection: .all, isBackground: false, now: 0) }
        return followed
    }

    @Test(
        arguments: [
            (DownloadState.queued, nil, false), (.active, nil, false), (.waiting, .retry, false),
            (.waiting, .rateLimited, false), (.waiting, .offline, false), (.waiting, .needsUrl, true),
            (.waiting, .diskFull, true), (.paused, .user, true), (.paused, .interrupted, true), (.failed, nil, true),
            (.completed, nil, true), (.canceled, nil, true),
        ] as [(DownloadState, StateReason?, Bool)])
    func `settled is what no time mends`(state: DownloadState, reason: StateReason?, isSettled: Bool) {
        #expect(following(snapshot("a", state, reason)).areSettled(now: 0) == isSettled)
    }

    @Test func `offline for more than a minute is settled, tries in between notwithstanding`() {
        let minute = FollowedDownloads.offlinePatienceNanoseconds
        var followed = following(snapshot("a", .waiting, .offline))
        #expect(followed.nextSettleTime(now: 0) == minute)
        followed.update(snapshot("a", .active, phase: .connecting), now: minute / 2)
        followed.update(snapshot("a", .waiting, .offline), now: minute / 2 + 1)
        #expect(!followed.areSettled(now: minute - 1))
        #expect(followed.areSettled(now: minute))
        followed.update(snapshot("a", .active, phase: .downloading), now: minute)
        #expect(!followed.areSettled(now: 2 * minute))
        followed.update(snapshot("a", .waiting, .offline), now: 2 * minute)
        #expect(!followed.areSettled(now: 2 * minute))
    }

    @Test func `all are completed only if every one is`() {
        var followed = following(snapshot("a", .completed), snapshot("b", .active))
        #expect(!followed.areAllCompleted)
        followed.update(snapshot("b", .failed), now: 0)
        #expect(!followed.areAllCompleted)
        followed.follow(snapshot("b", .queued), selection: .all, isBackground: false, now: 0)
        followed.update(snapshot("b", .completed), now: 0)
        #expect(followed.areAllCompleted)
    }

    @Test func `a failure is not forgotten with its record, a completed download is`() {
        var followed = following(snapshot("a", .completed), snapshot("b", .failed))
        _ = followed.remove("a")
        _ = followed.remove("b")
        #expect(!followed.areAllCompleted)
        #expect(followed.finished.isEmpty)
    }

    @Test func `others' downloads are told apart, and background ones`() {
        var followed = following(snapshot("a", .active, owner: .other))
        #expect(followed.idsElsewhere == ["a"])
        followed.follow(snapshot("b", .active), selection: .none, isBackground: true, now: 0)
        #expect(followed.hasUnsettledBackground)
        followed.update(snapshot("b", .completed), now: 0)
        #expect(!followed.hasUnsettledBackground)
    }

    @Test func `what an answer or event told is not told again`() {
        var followed = following(snapshot("a", .queued))
        let told = [
            followed.isTold(snapshot("a", .queued)), followed.isTold(snapshot("a", .queued)),
            followed.isTold(snapshot("a", .active, phase: .connecting)),
            followed.isTold(snapshot("a", .active, phase: .downloading)), followed.isTold(snapshot("a", .queued)),
            followed.isTold(snapshot("b", .queued)), followed.isTold(snapshot("b", .queued)),
        ]
        #expect(told == [false, true, false, false, false, false, false])
    }

    @Test func `what is not followed is not counted`() {
        var followed = FollowedDownloads()
        followed.update(snapshot("a", .failed), now: 0)
        #expect(followed.areSettled(now: 0) && followed.areAllCompleted)
    }
}

@Suite struct SubscriptionsTests {
    private func subscription(
        changed: Bool = true,
        progress: Bool = true,
        ids: Set<String>? = nil,
        every milliseconds: Int64 = 250
    ) -> Subscriptions.Subscription {
        Subscriptions.Subscription(
            wantsChanged: changed,
            wantsProgress: progress,
            ids: ids,
            progressIntervalMilliseconds: milliseconds
        )
    }

    @Test func `without ids all of this process are meant, with ids these wherever they run`() {
        var all = Subscriptions()
        _ = all.add(subscription())
        #expect(all.interest(in: "a", isOwn: true).wantsChanged)
        #expect(!all.interest(in: "a", isOwn: false).wantsChanged)
        var some = Subscriptions()
        _ = some.add(subscription(ids: ["a"]))
        #expect(some.interest(in: "a", isOwn: false).wantsChanged)
        #expect(some.interest(in: "b", isOwn: true) == Subscriptions.Interest())
    }

    @Test func `the most impatient subscription sets the pace`() {
        var subscriptions = Subscriptions()
        _ = subscriptions.add(subscription(every: 1_000))
        _ = subscriptions.add(subscription(changed: false, ids: ["a"], every: 100))
        #expect(subscriptions.interest(in: "a", isOwn: true).progressIntervalMilliseconds == 100)
        #expect(subscriptions.interest(in: "b", isOwn: true).progressIntervalMilliseconds == 1_000)
        #expect(subscriptions.shortestIntervalMilliseconds == 100)
    }

    @Test func `what was ended is not heard any more, and cannot be ended twice`() {
        var subscriptions = Subscriptions()
        let name = subscriptions.add(subscription())
        let removals = [subscriptions.remove(name ?? ""), subscriptions.remove(name ?? "")]
        #expect(removals == [true, false])
        #expect(!subscriptions.interest(in: "a", isOwn: true).wantsChanged)
    }

    @Test func `there is a limit, and room again after an end`() {
        var subscriptions = Subscriptions()
        let names = (0..<Subscriptions.maxCount).compactMap { _ in subscriptions.add(subscription()) }
        #expect(Set(names).count == Subscriptions.maxCount)
        let oneMore = subscriptions.add(subscription())
        _ = subscriptions.remove(names.first ?? "")
        let afterEnd = subscriptions.add(subscription())
        #expect(oneMore == nil && afterEnd != nil)
    }
}

@Suite struct ProgressPacerTests {
    private static let millisecond: Int64 = 1_000_000

    @Test func `each download is told of once an interval, and not at all when nobody listens`() {
        var pacer = ProgressPacer()
        pacer.note(["a", "b", "mute"])
        let interval: (String) -> Int64? = { $0 == "mute" ? nil : 100 }
        let first = pacer.takeDue(now: 0, interval: interval)
        #expect(first == ["a", "b"])
        #expect(pacer.isEmpty)
        pacer.note(["a"])
        let early = pacer.takeDue(now: 50 * Self.millisecond, interval: interval)
        #expect(early.isEmpty && !pacer.isEmpty)
        let due = pacer.takeDue(now: 100 * Self.millisecond, interval: interval)
        #expect(due == ["a"])
    }

    @Test func `what is forgotten is not told of`() {
        var pacer = ProgressPacer()
        pacer.note(["a"])
        pacer.forget("a")
        let due = pacer.takeDue(now: 0, interval: { _ in 100 })
        #expect(due.isEmpty)
    }
}
