import Testing

@testable import Core

/// The order of requests, answers, starts and timers.
@Suite struct OrderTests {
    // MARK: RequestPipeline

    private func ready(_ pipeline: inout RequestPipeline<Int>) -> [Int] {
        var bodies: [Int] = []
        while let step = pipeline.popReady() {
            switch step {
            case .start(let body), .run(let body): bodies.append(body)
            }
        }
        return bodies
    }

    @Test func `starts run together, and what is behind them waits until all are decided`() {
        var pipeline = RequestPipeline<Int>()
        for body in 1...3 { pipeline.append(.start(body)) }
        pipeline.append(.run(4))
        pipeline.append(.start(5))
        #expect(ready(&pipeline) == [1, 2, 3])
        #expect(pipeline.startsInFlight == 3)
        pipeline.startEnded()
        pipeline.startEnded()
        #expect(ready(&pipeline).isEmpty)
        pipeline.startEnded()
        #expect(ready(&pipeline) == [4, 5])
        #expect(!pipeline.isIdle)
        pipeline.startEnded()
        #expect(pipeline.isIdle)
    }

    @Test func `a step that blocks holds up starts and other steps until it is unblocked as often`() {
        var pipeline = RequestPipeline<Int>()
        pipeline.append(.run(1))
        pipeline.append(.start(2))
        pipeline.append(.run(3))
        #expect(pipeline.popReady() != nil)
        pipeline.block()
        pipeline.block()
        #expect(!pipeline.hasReadyStep)
        pipeline.unblock()
        #expect(ready(&pipeline).isEmpty)
        pipeline.unblock()
        #expect(ready(&pipeline) == [2])
        pipeline.startEnded()
        #expect(ready(&pipeline) == [3])
    }

    @Test func `thousands of steps keep their order`() {
        var pipeline = RequestPipeline<Int>()
        var taken: [Int] = []
        for body in 0..<5_000 {
            pipeline.append(.run(body))
            if body % 3 == 0, case .run(let body)? = pipeline.popReady() { taken.append(body) }
        }
        taken += ready(&pipeline)
        #expect(taken == Array(0..<5_000))
        #expect(pipeline.isIdle)
    }

    // MARK: Outbox

    @Test func `an entry waits for the commit it was sealed with, and for those before it`() {
        var outbox = Outbox<String>()
        outbox.append("a")
        #expect(outbox.hasUnsealed)
        #expect(outbox.popReady(completedTicket: 9) == nil)
        outbox.seal(ticket: 2)
        outbox.append("b")
        outbox.seal(ticket: 3)
        #expect(!outbox.hasUnsealed)
        #expect(outbox.popReady(completedTicket: 1) == nil)
        #expect(outbox.popReady(completedTicket: 2) == "a")
        #expect(outbox.popReady(completedTicket: 2) == nil)
        outbox.append("c")
        outbox.seal(ticket: 3)
        #expect(outbox.popReady(completedTicket: 3) == "b")
        #expect(outbox.popReady(completedTicket: 3) == "c")
        #expect(outbox.isEmpty)
    }

    @Test func `entries that have been delivered do not pile up`() {
        var outbox = Outbox<Int>()
        var delivered: [Int] = []
        for entry in 0..<10_000 {
            outbox.append(entry)
            outbox.seal(ticket: UInt64(entry))
            // One always waits.
            while let ready = outbox.popReady(completedTicket: UInt64(max(0, entry - 1))) { delivered.append(ready) }
            #expect(outbox.storedCount <= 4_096)
        }
        #expect(delivered == Array(0..<9_999))
    }

    // MARK: StartOrder

    @Test func `starts are answered in the order of arrival, whenever they are decided`() {
        var order = StartOrder<Int>()
        let places = (0..<4).map { _ in order.take() }
        order.resolve(places[2], 2)
        order.resolve(places[1], 1)
        #expect(order.popResolved() == nil)
        order.resolve(places[0], 0)
        var answered: [Int] = []
        while let body = order.popResolved() { answered.append(body) }
        #expect(answered == [0, 1, 2])
        order.resolve(places[3], 3)
        #expect(order.popResolved() == 3)
    }

    // MARK: TimerHeap

    @Test func `timers are due in the order of their times, and of their addition within one`() {
        var generator = SystemRandomNumberGenerator()
        var timers = TimerHeap<Int>()
        let times = (0..<2_000).map { _ in Int64.random(in: 0..<300, using: &generator) }
        for (number, time) in times.enumerated() { timers.add(number, due: time) }
        let expected = times.indices.sorted { (times[$0], $0) < (times[$1], $1) }
        var popped: [Int] = []
        for now in Int64(0)..<300 {
            while let number = timers.popDue(now: now) {
                #expect(times[number] == now)
                popped.append(number)
            }
            #expect(timers.nextDue.map { $0 > now } ?? true)
        }
        #expect(popped == expected)
        #expect(timers.nextDue == nil)
    }

    @Test(arguments: [Int64.min, -1, 0, Int64.max])
    func `any time may be due`(time: Int64) {
        var timers = TimerHeap<Int>()
        timers.add(7, due: time)
        #expect(timers.nextDue == time)
        #expect(timers.popDue(now: .max) == 7)
    }
}
