import Testing

@testable import Core

@Suite struct RetryPolicyTests {
    private static let options = RetryOptions(
        maxAttempts: 10, initialDelayMilliseconds: 500, maxDelayMilliseconds: 60_000)
    private static let failure = DownloadFailure(.connect, "", isRetryable: true)

    private static func decide(
        _ count: Int, _ options: RetryOptions = options, after: Int64? = nil, random: Double = 0,
        failure: DownloadFailure = failure
    ) -> RetryDecision {
        RetryPolicy.decide(
            failureCount: count, options: options, failure: failure, retryAfterMilliseconds: after, random: random)
    }

    @Test(
        arguments: [
            Row("first", 1, 250), Row("second", 2, 500), Row("third", 3, 1_000), Row("fourth", 4, 2_000),
            Row("seventh", 7, 16_000), Row("eighth, capped", 8, 30_000), Row("tenth", 10, 30_000),
        ] as [Row<Int, Int64>])
    func `delays double up to the cap, and half of each is drawn by lot`(row: Row<Int, Int64>) {
        #expect(Self.decide(row.input, random: 0) == .retry(afterMilliseconds: row.expected))
        #expect(Self.decide(row.input, random: 0.5) == .retry(afterMilliseconds: row.expected * 3 / 2))
        guard case .retry(let most) = Self.decide(row.input, random: 1.0.nextDown) else {
            Issue.record("gave up")
            return
        }
        #expect(most < row.expected * 2 && most >= row.expected * 2 - 1)
    }

    @Test func `any options and lots give a delay within bounds`() {
        var generator = SeededGenerator(seed: 9)
        let extremes: [Int64] = [.min, -1, 0, 1, 3, 500, 60_000, .max / 2, .max]
        for _ in 0..<3_000 {
            let options = RetryOptions(
                maxAttempts: .max, initialDelayMilliseconds: extremes.randomElement(using: &generator) ?? 0,
                maxDelayMilliseconds: extremes.randomElement(using: &generator) ?? 0)
            let lot = [-1, 0, 0.3, 1.0.nextDown, 1, .nan, .infinity].randomElement(using: &generator) ?? 0
            let count = [0, 1, 2, 64, 1_000, .max].randomElement(using: &generator) ?? 1
            guard case .retry(let delay) = Self.decide(count, options, random: lot) else {
                Issue.record("gave up")
                continue
            }
            #expect(delay >= 0 && delay <= max(0, options.maxDelayMilliseconds))
        }
    }

    @Test(
        arguments: [
            Row("as asked", 7_000, 7_000), Row("zero", 0, 0), Row("an hour at most", 86_400_000, 3_600_000),
            Row("never negative", -5, 0),
        ] as [Row<Int64, Int64>])
    func `what the server asks for replaces our delay`(row: Row<Int64, Int64>) {
        #expect(Self.decide(5, after: row.input, random: 0.7) == .retry(afterMilliseconds: row.expected))
    }

    @Test func `it gives up after as many retries as the options allow`() {
        #expect(Self.decide(10) != .giveUp)
        #expect(Self.decide(11) == .giveUp)
        #expect(Self.decide(11, after: 1) == .giveUp)
        #expect(Self.decide(1, RetryOptions(maxAttempts: 0)) == .giveUp)
        #expect(Self.decide(1, failure: DownloadFailure(.connect, "", isRetryable: false)) == .giveUp)
    }

    @Test(arguments: FailureKind.allCases)
    func `which kinds are tried again`(kind: FailureKind) {
        let retryable: Set<FailureKind> = [
            .dns, .connect, .timeout, .stalled, .tls, .incomplete, .rateLimited, .proxy, .partialInUse,
        ]
        #expect(RetryPolicy.isRetryable(kind) == retryable.contains(kind))
    }

    @Test func `a status decides for its kind`() {
        for status in 0...999 {
            let transient = RetryPolicy.isTransient(status: status)
            #expect(RetryPolicy.isRetryable(.httpStatus, httpStatus: status) == transient)
        }
        #expect([200, 400, 401, 403, 404, 410, 451, 501, 505].allSatisfy { !RetryPolicy.isTransient(status: $0) })
        #expect([408, 425, 429, 500, 502, 503, 504].allSatisfy(RetryPolicy.isTransient))
        #expect(!RetryPolicy.isRetryable(.proxy, httpStatus: 407))
    }
}
