import ChatterdBasics
import ChatterdSockets
import ChatterdTestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct TimerTests {
    let shard: Shard

    init() throws {
        shard = try TestShard.any()
    }

    /// Timers on a shard, with the times at which they fired.
    private final class Timers: @unchecked Sendable {
        let fired = Monitor<[Int: Instant]>([:])
        /// Raised before `fired` is, so that it can be read after it.
        let count = Monitor(0)
        private let shard: Shard
        private var timers: [DeadlineTimer] = []

        init(_ number: Int, on shard: Shard) {
            self.shard = shard
            shard.runAndWait { [self] in
                for index in 0..<number {
                    timers.append(
                        DeadlineTimer(on: shard) { [fired, count, unowned shard] in
                            count.withLock { $0 += 1 }
                            fired.withLock { $0[index] = shard.now }
                        })
                }
            }
        }

        deinit {
            let timers = Confined(timers, to: shard)
            shard.run { _ = timers }
        }

        /// Uses the timers on the shard.
        func use(_ body: @escaping @Sendable (_ timers: [DeadlineTimer], _ now: Instant) -> Void) {
            shard.runAndWait { [self] in body(timers, shard.now) }
        }
    }

    @Test func timersFireOnceEachAndNeverEarly() async throws {
        try await blocking { [shard] in
            let count = 3000
            let timers = Timers(count, on: shard)
            let deadlines = Monitor<[Instant]>([])
            timers.use { timers, now in
                let planned = timers.indices.map { now + .milliseconds($0 * 7 % 400) }
                deadlines.withLock { $0 = planned }
                for (timer, deadline) in zip(timers, planned) {
                    timer.set(at: deadline)
                }
            }
            let fired = try #require(timers.fired.wait { $0.count == count ? $0 : nil })
            let planned = deadlines.withLock { $0 }
            #expect(fired.allSatisfy { $0.value >= planned[$0.key] })
            #expect(timers.count.withLock { $0 } == count)
            timers.use { timers, _ in #expect(timers.allSatisfy { !$0.isSet }) }
        }
    }

    @Test func cancelledTimerDoesNotFire() async throws {
        try await blocking { [shard] in
            let timers = Timers(100, on: shard)
            timers.use { timers, _ in
                for timer in timers {
                    timer.set(after: .milliseconds(20))
                }
                for timer in timers.dropLast() {
                    timer.cancel()
                }
            }
            _ = timers.fired.wait { $0[99] }
            // The last timer was set last, so the times of the others had passed.
            timers.use { _, _ in }
            #expect(timers.fired.withLock { Array($0.keys) } == [99])
        }
    }

    @Test func postponedAndAdvancedDeadlinesAreKept() async throws {
        try await blocking { [shard] in
            let timers = Timers(2, on: shard)
            let due = Monitor<[Instant]>([])
            timers.use { timers, now in
                timers[0].set(at: now + .milliseconds(10))
                for step in 1...20 {
                    timers[0].set(at: now + .milliseconds(step * 10))
                }
                timers[1].set(after: .seconds(3600))
                timers[1].set(at: now + .milliseconds(50))
                due.withLock { $0 = [now + .milliseconds(200), now + .milliseconds(50)] }
            }
            let fired = try #require(timers.fired.wait { $0.count == 2 ? $0 : nil })
            let deadlines = due.withLock { $0 }
            #expect((fired[0] ?? .distantPast) >= deadlines[0])
            #expect((fired[1] ?? .distantPast) >= deadlines[1])
            #expect((fired[1] ?? .distantPast) <= (fired[0] ?? .distantPast))
            #expect(timers.count.withLock { $0 } == 2)
        }
    }

    @Test func timerMaySetItselfAgain() async throws {
        try await blocking { [shard] in
            let ticks = Monitor(0)
            let box = Box()
            shard.runAndWait { [shard] in
                box.timer = DeadlineTimer(on: shard) { [unowned box] in
                    ticks.withLock { $0 += 1 }
                    box.timer?.set(after: .milliseconds(1))
                }
                box.timer?.set(after: .zero)
            }
            #expect(ticks.wait { $0 >= 5 ? true : nil } == true)
            shard.runAndWait { box.timer = nil }
        }
    }

    @Test func deallocatedTimerDoesNotFire() async throws {
        try await blocking { [shard] in
            let timers = Timers(1, on: shard)
            let dropped = Monitor(0)
            shard.runAndWait { [shard] in
                for _ in 0..<50 {
                    DeadlineTimer(on: shard) { dropped.withLock { $0 += 1 } }.set(after: .milliseconds(1))
                }
            }
            timers.use { timers, _ in timers[0].set(after: .milliseconds(40)) }
            #expect(timers.fired.wait { $0[0] } != nil)
            #expect(dropped.withLock { $0 } == 0)
        }
    }

    private final class Box: @unchecked Sendable {
        var timer: DeadlineTimer?
    }
}
