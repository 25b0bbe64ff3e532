import ChatterdBasics
import ChatterdRelay
import Testing

/// The time and the shards of a test. Blocks, tasks and alarms run only when the test calls `settle` or `advance`, on the thread of
/// the test.
final class ManualClock {
    /// The sizes of the inputs on which work was done.
    private(set) var workSizes: [Int] = []
    private var shards: [ManualShard] = []
    private(set) var now = Instant(nanoseconds: 1_000_000_000)
    private var alarms: [WeakAlarm] = []
    private var stepsLeft = 0

    /// The maximum number of steps of one call, far more than any test needs. Endless work fails the test instead of hanging it.
    private static let stepLimit = 1_000_000

    func makeShard() -> ManualShard {
        let shard = ManualShard()
        shards.append(shard)
        return shard
    }

    /// Runs all blocks and tasks of all shards until none is left.
    func settle() {
        stepsLeft = Self.stepLimit
        runTurns()
    }

    /// Advances the time. The alarms run in order, each at its own time.
    func advance(by duration: Duration) {
        stepsLeft = Self.stepLimit
        runTurns()
        let end = now + duration
        while stepsLeft > 0, let alarm = nextAlarm(until: end) {
            now = max(now, alarm.deadline)
            alarm.ring()
            countStep()
            runTurns()
        }
        now = end
        alarms.removeAll { $0.alarm == nil }
    }

    private func nextAlarm(until end: Instant) -> ManualAlarm? {
        alarms.compactMap(\.alarm).filter { $0.deadline <= end }.min { $0.deadline < $1.deadline }
    }

    private func runTurns() {
        while stepsLeft > 0, shards.contains(where: { $0.turn() }) {
            countStep()
        }
    }

    private func countStep() {
        stepsLeft -= 1
        if stepsLeft == 0 { Issue.record("the shards still have work after \(Self.stepLimit) steps") }
    }

    fileprivate func register(_ alarm: ManualAlarm) {
        alarms.append(WeakAlarm(alarm: alarm))
    }

    func scheduler(of shard: ManualShard) -> Scheduler {
        let clock = Unchecked(self)
        return Scheduler(
            makeAlarm: { handler in
                let alarm = ManualAlarm(clock: clock.value, handler: handler)
                clock.value.register(alarm)
                return alarm
            },
            run: { shard.run($0) },
            spawn: { body in Task(executorPreference: shard) { await body() } },
            now: { clock.value.now },
            timeOfDay: { Int64(clock.value.now.nanoseconds) },
            work: { size, work in
                clock.value.workSizes.append(size)
                work()
            })
    }

    private struct WeakAlarm {
        weak var alarm: ManualAlarm?
    }
}

/// The executor of one shard.
final class ManualShard: TaskExecutor, @unchecked Sendable {
    private var jobs: [UnownedJob] = []
    private var blocks: [@Sendable () -> Void] = []

    func enqueue(_ job: consuming ExecutorJob) {
        jobs.append(UnownedJob(job))
    }

    func run(_ block: @escaping @Sendable () -> Void) {
        blocks.append(block)
    }

    /// Runs the blocks and jobs that exist at the start. Returns whether there were any.
    func turn() -> Bool {
        let (jobs, blocks) = (jobs, blocks)
        self.jobs = []
        self.blocks = []
        for block in blocks {
            block()
        }
        for job in jobs {
            job.runSynchronously(on: asUnownedTaskExecutor())
        }
        return !jobs.isEmpty || !blocks.isEmpty
    }
}

/// An alarm of a `ManualClock`.
private final class ManualAlarm: Alarm {
    private(set) var deadline = Instant.distantFuture
    private let clock: ManualClock
    private let handler: () -> Void

    init(clock: ManualClock, handler: @escaping () -> Void) {
        self.clock = clock
        self.handler = handler
    }

    func set(after duration: Duration) {
        deadline = clock.now + duration
    }

    func cancel() {
        deadline = .distantFuture
    }

    func ring() {
        deadline = .distantFuture
        handler()
    }
}

/// Passes a value to closures that run on the test's thread only.
private struct Unchecked<Value>: @unchecked Sendable {
    let value: Value

    init(_ value: Value) {
        self.value = value
    }
}
