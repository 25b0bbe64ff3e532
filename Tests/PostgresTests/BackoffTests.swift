import ChatterdBasics
import Testing

@testable import ChatterdPostgres

@Suite(.timeLimit(.minutes(30))) struct BackoffTests {
    @Test func waitsGrowToTwoSecondsAndAreShortenedByHalfAtMost() {
        var backoff = Backoff.connecting
        for full in [100, 200, 400, 800, 1_600, 2_000, 2_000, 2_000] {
            let wait = backoff.nextShortened()
            #expect(wait <= .milliseconds(full))
            #expect(wait >= .milliseconds(full / 2))
        }
        backoff.reset()
        #expect(backoff.nextShortened() <= .milliseconds(100))
    }
}
