import ChatterdBasics
import Testing

@testable import ChatterdServer

@Suite struct DatabaseClockTests {
    private func instant(_ milliseconds: UInt64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

    @Test func clockWithoutAReadingHasNoTime() {
        #expect(DatabaseClock().seconds(at: instant(5_000)) == nil)
    }

    @Test func clockIsNeverAheadOfTheDatabase() {
        var clock = DatabaseClock()
        // The database read its clock at some instant between both.
        clock.add(1_000_900_000, between: instant(5_000), and: instant(5_400))
        #expect(clock.seconds(at: instant(5_400)) == 1_000)
        #expect(clock.seconds(at: instant(5_499)) == 1_000)
        #expect(clock.seconds(at: instant(5_500)) == 1_001)
        #expect(clock.seconds(at: instant(9_500)) == 1_005)
    }

    @Test func slowReadingMakesTheClockNoWorse() {
        var clock = DatabaseClock()
        clock.add(1_000_000_000, between: instant(1_000), and: instant(1_000))
        clock.add(1_005_000_000, between: instant(5_000), and: instant(30_000))
        #expect(clock.seconds(at: instant(30_000)) == 1_029)
    }

    @Test func fastReadingAfterASlowOneCorrectsTheClock() {
        var clock = DatabaseClock()
        clock.add(1_000_000_000, between: instant(1_000), and: instant(21_000))
        clock.add(1_022_000_000, between: instant(23_000), and: instant(23_000))
        #expect(clock.seconds(at: instant(23_000)) == 1_022)
    }

    @Test func clockThatTheDatabaseSetsBackIsFollowed() {
        var clock = DatabaseClock()
        clock.add(1_000_000_000, between: instant(1_000), and: instant(1_000))
        clock.add(901_000_000, between: instant(2_000), and: instant(2_010))
        #expect(clock.seconds(at: instant(2_010)) == 901)
    }
}
