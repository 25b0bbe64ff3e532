import ChatterdRelay
import ChatterdSockets

extension Scheduler {
    /// The relay's view of a shard.
    convenience init(on shard: Shard) {
        self.init(
            makeAlarm: { DeadlineTimer(on: shard, handler: $0) }, run: { shard.run($0) },
            spawn: { body in Task(executorPreference: shard) { await body() } }, now: { shard.now },
            timeOfDay: WallClock.nanoseconds,
            work: { size, work in await LongWork.run(on: size) { work() } }, check: { shard.preconditionCurrent() })
    }
}

extension DeadlineTimer: Alarm {}
