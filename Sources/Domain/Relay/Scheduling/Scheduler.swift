import ChatterdBasics

/// Time and threads of a shard, injected so that tests control both.
///
/// It is an object, because nearly every part of a reply holds it.
public final class Scheduler: Confinement {
    /// Creates an alarm that calls the handler on the shard.
    public let makeAlarm: @Sendable (@escaping () -> Void) -> any Alarm
    /// Runs a block on the shard, soon; may be called from any thread.
    public let run: @Sendable (@escaping @Sendable () -> Void) -> Void
    /// Starts a task that stays on the shard; called there.
    public let spawn: @Sendable (@escaping @Sendable () async -> Void) -> Void
    /// The monotonic clock.
    public let now: @Sendable () -> Instant
    /// The time of day, in nanoseconds since 1970.
    public let timeOfDay: @Sendable () -> Int64
    /// Does work on an input of a size in bytes, elsewhere if it is long.
    private let doWork: @Sendable (_ size: Int, _ work: @escaping @Sendable () -> Void) async -> Void
    private let check: @Sendable () -> Void

    /// Creates a scheduler.
    ///
    /// - Parameters:
    ///   - work: does work on an input of a size in bytes.
    ///   - check: stops the program unless the caller runs on the shard.
    public init(
        makeAlarm: @escaping @Sendable (@escaping () -> Void) -> any Alarm,
        run: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
        spawn: @escaping @Sendable (@escaping @Sendable () async -> Void) -> Void,
        now: @escaping @Sendable () -> Instant, timeOfDay: @escaping @Sendable () -> Int64,
        work: @escaping @Sendable (_ size: Int, _ work: @escaping @Sendable () -> Void) async -> Void = { $1() },
        check: @escaping @Sendable () -> Void = {}
    ) {
        self.makeAlarm = makeAlarm
        self.run = run
        self.spawn = spawn
        self.now = now
        self.timeOfDay = timeOfDay
        doWork = work
        self.check = check
    }

    /// Stops the program unless the caller runs on the shard.
    public func preconditionCurrent() { check() }

    /// Does work on an input of a size in bytes, elsewhere if it is long, and returns its value. The size is `.max` if it does not tell how
    /// long the work takes.
    func work<Value: Sendable>(_ size: Int, _ work: @escaping @Sendable () -> Value) async -> Value {
        let value = Lock<Value?>(nil)
        await doWork(size) {
            let result = work()
            value.withLock { $0 = result }
        }
        guard let value = value.withLock({ $0 }) else { preconditionFailure("the work was not done") }
        return value
    }

    /// Runs a block with an object of the shard, soon.
    func run<Object>(with object: Object, _ block: @escaping @Sendable (Object) -> Void) {
        let confined = Confined(object, to: self)
        run { block(confined.value) }
    }

    /// Starts a task with an object of the shard; called there.
    func spawn<Object>(with object: Object, _ body: @escaping @Sendable (Object) async -> Void) {
        let confined = Confined(object, to: self)
        spawn { await body(confined.value) }
    }
}

/// A future call that can be postponed and cancelled.
public protocol Alarm: AnyObject {
    /// Calls the handler once after the duration; replaces an earlier setting.
    func set(after duration: Duration)
    /// Cancels the call.
    func cancel()
}
