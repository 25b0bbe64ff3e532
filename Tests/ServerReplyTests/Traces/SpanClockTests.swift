import ChatterdBasics
import Testing

@testable import ChatterdServer

@Suite struct SpanClockTests {
    @Test func clockFollowsTheTimeOfDayIfItWasSet() {
        var clock = SpanClock()
        let zero = Instant(nanoseconds: 0)
        let first = clock.time(of: zero)
        // The clocks drift apart by less, and the spans of a trace must fit each other.
        for current in [first + SpanClock.step, first - SpanClock.step] {
            clock.follow(current)
            #expect(clock.time(of: zero) == first)
        }
        for current in [first + SpanClock.step + 1, first - 3_600_000_000_000] {
            clock.follow(current)
            #expect(clock.time(of: zero) == current)
            #expect(clock.time(of: Instant(nanoseconds: 7)) == current + 7)
        }
    }
}
