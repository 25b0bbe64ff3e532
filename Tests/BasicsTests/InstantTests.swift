import ChatterdBasics
import Testing

@Suite(.timeLimit(.minutes(30))) struct InstantTests {
    private let start = Instant(nanoseconds: 5_000_000_000)

    @Test func differenceOfInstantsIsADuration() {
        #expect(start + .milliseconds(1_500) == Instant(nanoseconds: 6_500_000_000))
        #expect(start + .seconds(2) - start == .seconds(2))
        #expect(start - (start + .seconds(2)) == .seconds(-2))
        #expect(start < start + .nanoseconds(1))
    }

    @Test func negativeDurationDoesNotMoveAnInstantBack() {
        #expect(start + .seconds(-1) == start)
    }

    @Test func instantBeyondTheClockIsTheDistantFuture() {
        #expect(start.advanced(byNanoseconds: .max) == .distantFuture)
        #expect(Instant.distantFuture + .seconds(1) == .distantFuture)
        #expect(start < .distantFuture && .distantPast < start)
    }

    @Test func nanosecondsOfADurationAreBounded() {
        #expect(Duration.milliseconds(20).nanoseconds == 20_000_000)
        #expect(Duration(secondsComponent: 1, attosecondsComponent: 999_999_999).nanoseconds == 1_000_000_000)
        #expect(Duration.seconds(-1).nanoseconds == 0)
        #expect(Duration.nanoseconds(-1).nanoseconds == 0)
        #expect(Duration.seconds(Int64.max).nanoseconds == 9_000_000_000_000_000_000)
    }
}
