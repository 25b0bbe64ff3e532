/// Time and threads, as the relay sees them: injected, so that tests move the clock by hand.
///
/// An object and not a value, as nearly everything of a reply holds it.
public final class Scheduler: Sendable {
    /// Makes an alarm that calls the handler on the shard.
    public let makeAlarm: @Sendable (@escaping () -> Void) -> any Alarm
    /// Runs a block on the shard, soon; may be called from any thread.
    public let run: @Sendable (@escaping @Sendable () -> Void) -> Void
    /// Starts a task that stays on the shard; called there.
    public let spawn: @Sendable (@escaping @Sendable () async -> Void) -> Void
    /// The monotonic clock, in nanoseconds.
    public let now: @Sendable () -> UInt64
    /// The time of day, in nanoseconds since 1970.
    public let timeOfDay: @Sendable () -> Int64

    /// Makes a scheduler.
    public init(
        makeAlarm: @escaping @Sendable (@escaping () -> Void) -> any Alarm,
        run: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
        spawn: @escaping @Sendable (@escaping @Sendable () async -> Void) -> Void,
        now: @escaping @Sendable () -> UInt64,
        timeOfDay: @escaping @Sendable () -> Int64
    ) {
        self.makeAlarm = makeAlarm
        self.run = run
        self.spawn = spawn
        self.now = now
        self.timeOfDay = timeOfDay
    }
}
