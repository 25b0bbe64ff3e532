import ChatterdBasics
import ChatterdRelay
import Testing

/// Time and threads that a test moves by hand: nothing runs, and no alarm rings, unless the test says so.
///
/// All of it happens on the thread of the test.
final class HandClock {
    private var shards: [HandShard] = []
    private(set) var now = Instant(nanoseconds: 1_000_000_000)
    private var alarms: [WeakAlarm] = []
    private var stepsLeft = 0

    /// The steps that one call may take, far more than any test needs: work that never ends fails the test and does not
    /// hang it.
    private static let stepLimit = 1_000_000

    func makeShard() -> HandShard {
        let shard = HandShard()
        shards.append(shard)
        return shard
    }

    /// Runs what there is to run on all shards until nothing is left.
    func settle() {
        stepsLeft = Self.stepLimit
        runTurns()
    }

    /// Moves time on; alarms ring one after the other, each in its moment.
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

    private func nextAlarm(until end: Instant) -> HandAlarm? {
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

    fileprivate func register(_ alarm: HandAlarm) {
        alarms.append(WeakAlarm(alarm: alarm))
    }

    func scheduler(of shard: HandShard) -> Scheduler {
        let clock = Unchecked(self)
        return Scheduler(
            makeAlarm: { handler in
                let alarm = HandAlarm(clock: clock.value, handler: handler)
                clock.value.register(alarm)
                return alarm
            },
            run: { shard.run($0) },
            spawn: { body in Task(executorPreference: shard) { await body() } },
            now: { clock.value.now },
            timeOfDay: { Int64(clock.value.now.nanoseconds) })
    }

    private struct WeakAlarm {
        weak var alarm: HandAlarm?
    }
}

/// The executor of what lives on one shard.
final class HandShard: TaskExecutor, @unchecked Sendable {
    private var jobs: [UnownedJob] = []
    private var blocks: [@Sendable () -> Void] = []

    func enqueue(_ job: consuming ExecutorJob) {
        jobs.append(UnownedJob(job))
    }

    func run(_ block: @escaping @Sendable () -> Void) {
        blocks.append(block)
    }

    /// Runs what was there at the beginning; says whether there was anything.
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

/// An alarm of a clock that is moved by hand.
private final class HandAlarm: Alarm {
    private(set) var deadline = Instant.distantFuture
    private let clock: HandClock
    private let handler: () -> Void

    init(clock: HandClock, handler: @escaping () -> Void) {
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

/// Takes a value into closures that are called on the test's thread only.
private struct Unchecked<Value>: @unchecked Sendable {
    let value: Value

    init(_ value: Value) {
        self.value = value
    }
}
