import Platform
import Synchronization
import Testing

@Suite struct MailboxTests {
    @Test func `all that many threads send arrives, each sender's in order`() throws {
        let mailbox = try Mailbox<(sender: Int, number: Int)>()
        let senders = try (0..<4).map { sender in
            try Thread(name: "send \(sender)") {
                for number in 0..<5_000 {
                    if number % 2 == 0 {
                        mailbox.send((sender, number))
                    } else {
                        mailbox.send(contentsOf: [(sender, number)])
                    }
                }
            }
        }
        var next = [0, 0, 0, 0]
        while next != [5_000, 5_000, 5_000, 5_000] {
            for (sender, number) in try #require(mailbox.waitAndTakeAll()) {
                try #require(number == next[sender])
                next[sender] += 1
            }
        }
        for sender in senders { sender.join() }
        #expect(mailbox.isEmpty)
    }

    @Test func `a closed mailbox gives what is inside and then ends`() throws {
        let mailbox = try Mailbox<Int>()
        mailbox.send(contentsOf: [1, 2])
        mailbox.send(contentsOf: [])
        mailbox.close()
        #expect(mailbox.waitAndTakeAll() == [1, 2])
        #expect(mailbox.waitAndTakeAll() == nil)
        #expect(mailbox.waitAndTakeAll(timeoutMilliseconds: 0) == nil)
    }

    @Test func `closing wakes a sleeper`() throws {
        let mailbox = try Mailbox<Int>()
        let isDone = Guarded(false)
        let holder = Holder(isDone)
        let reader = try Thread(name: "sleeper") {
            let ended = mailbox.waitAndTakeAll() == nil
            holder.value.withLock { $0 = ended }
        }
        mailbox.close()
        reader.join()
        #expect(holder.value.withLock { $0 })
    }

    @Test func `an old wake-up does not cut a wait short`() throws {
        let mailbox = try Mailbox<Int>()
        mailbox.send(1)
        #expect(mailbox.takeAll() == [1])
        // The signal for the 1 is still pending; a wait that treated it as its time-out would return at once.
        let sender = try Thread(name: "late") { mailbox.send(2) }
        #expect(mailbox.waitAndTakeAll(timeoutMilliseconds: 60_000) == [2])
        sender.join()
        #expect(mailbox.waitAndTakeAll(timeoutMilliseconds: 1) == [])
    }

    @Test func `the reader is told once each time the mailbox stops being empty`() throws {
        let calls = Holder(Guarded(0))
        let mailbox = try Mailbox<Int> { calls.value.withLock { $0 += 1 } }
        mailbox.send(1)
        mailbox.send(contentsOf: [2, 3])
        #expect(calls.value.withLock { $0 } == 1)
        #expect(mailbox.takeAll() == [1, 2, 3])
        mailbox.send(contentsOf: [4])
        #expect(calls.value.withLock { $0 } == 2)
    }
}

private final class Holder<Value>: Sendable {
    let value: Guarded<Value>
    init(_ value: consuming Guarded<Value>) { self.value = value }
}
