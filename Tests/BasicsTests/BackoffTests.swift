import ChatterdBasics
import Testing

@Suite(.timeLimit(.minutes(30))) struct BackoffTests {
    @Test func delayDoublesUpToItsLimitAndStartsAgainAfterAReset() {
        var backoff = Backoff(first: .milliseconds(50), longest: .seconds(1))
        for milliseconds in [50, 100, 200, 400, 800, 1_000, 1_000] {
            #expect(backoff.delay == .milliseconds(milliseconds))
            let delay = backoff.next()
            #expect(delay == .milliseconds(milliseconds))
        }
        #expect(backoff.failures == 7)
        backoff.reset()
        #expect(backoff.failures == 0)
        #expect(backoff.delay == .milliseconds(50))
    }

    @Test func manyFailuresDoNotOverflowTheDelay() {
        var backoff = Backoff(first: .seconds(1), longest: .seconds(60))
        for _ in 0..<1_000 { _ = backoff.next() }
        #expect(backoff.delay == .seconds(60))
    }
}
