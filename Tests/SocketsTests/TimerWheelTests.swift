import ChatterdTestSupport
import Testing

@testable import ChatterdSockets

/// The wheel alone, with a manual clock.
@Suite(.timeLimit(.minutes(30))) struct TimerWheelTests {
    private static let tick = TimerWheel.tick

    let shard: Shard

    init() throws {
        shard = try TestShard.any()
    }

    /// The wheel with one timer for each deadline; `now` is the first time of the clock.
    private struct Setup {
        var wheel: TimerWheel
        let timers: [DeadlineTimer]
    }

    private func setUp(_ deadlines: [UInt64], now: UInt64) -> Setup {
        var wheel = TimerWheel(now: now)
        let timers = deadlines.map { deadline in
            let timer = DeadlineTimer(on: shard) {}
            timer.deadline = deadline
            wheel.insert(timer, now: now)
            return timer
        }
        return Setup(wheel: wheel, timers: timers)
    }

    /// Removes all timers from the wheel, so that no timer asks the shard to do it.
    private func drain(_ setup: inout Setup) {
        for timer in setup.timers {
            setup.wheel.remove(timer)
        }
    }

    @Test(arguments: [0, 1, 15_999_999, 16_000_000, 16_000_001, 1_000_000_007, 16_351_000_000])
    func timerComesUpAtItsDeadlineAndNotBefore(ahead: UInt64) {
        let now: UInt64 = 1_000_000_000_123
        var setup = setUp([now + ahead], now: now)
        #expect(setup.wheel.next(dueBy: now + ahead - min(ahead, 1)) == nil || ahead == 0)
        if ahead > 0 {
            let wanted = setup.wheel.nextDeadline
            #expect(wanted.map { $0 >= now + ahead && $0 < now + ahead + Self.tick } == true)
            #expect(setup.wheel.next(dueBy: wanted ?? 0) === setup.timers[0])
        }
        drain(&setup)
        #expect(setup.wheel.nextDeadline == nil)
    }

    @Test func deadlineBeyondTheReachOfTheWheelComesUpEarlier() {
        let now: UInt64 = 5_000_000_000_000
        var setup = setUp([now + 3600 * 1_000_000_000], now: now)
        let reach = now + UInt64(TimerWheel.slotCount) * Self.tick
        #expect(setup.wheel.nextDeadline.map { $0 > now && $0 <= reach } == true)
        #expect(setup.wheel.next(dueBy: reach) === setup.timers[0])
        drain(&setup)
    }

    @Test func manyTimersComeUpInTheOrderOfTheirTicks() {
        var random = SeededGenerator(seed: 7)
        let now: UInt64 = 77 * 16_000_000 * 1024 + 5
        let deadlines = (0..<5000).map { _ in now + UInt64.random(in: 0..<16_000_000_000, using: &random) }
        var setup = setUp(deadlines, now: now)
        var last: UInt64 = 0
        var removed = 0
        var wrong = 0
        while let wanted = setup.wheel.nextDeadline {
            wrong += wanted > last ? 0 : 1
            last = wanted
            while let timer = setup.wheel.next(dueBy: wanted) {
                wrong += timer.deadline <= wanted && timer.deadline + Self.tick > wanted ? 0 : 1
                removed += 1
            }
        }
        #expect(removed == deadlines.count)
        #expect(wrong == 0)
    }

    @Test func removingLeavesTheOthers() {
        let now: UInt64 = 1_000_000_000
        var setup = setUp((0..<10).map { _ in now + 100_000_000 }, now: now)
        for index in stride(from: 0, to: 10, by: 2) {
            setup.wheel.remove(setup.timers[index])
        }
        var left: [Int] = []
        while let timer = setup.wheel.next(dueBy: now + 200_000_000) {
            left.append(setup.timers.firstIndex { $0 === timer } ?? -1)
        }
        #expect(left.sorted() == [1, 3, 5, 7, 9])
        #expect(setup.wheel.nextDeadline == nil)
    }

    @Test func wheelThatWasIdleForLongAcceptsADeadlineAtOnce() {
        let now: UInt64 = 1_000_000_000
        var setup = setUp([], now: now)
        // An hour without any timer, and without a look at the wheel.
        let later = now + 3600 * 1_000_000_000
        let timer = DeadlineTimer(on: shard) {}
        timer.deadline = later + 50_000_000
        setup.wheel.insert(timer, now: later)
        #expect(setup.wheel.nextDeadline.map { $0 >= timer.deadline && $0 < timer.deadline + Self.tick } == true)
        setup.wheel.remove(timer)
    }
}
