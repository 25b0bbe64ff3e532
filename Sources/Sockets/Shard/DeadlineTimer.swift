import ChatterdBasics

/// A deadline on a shard that can be set, put off and cancelled any number of times. Confined to its shard.
///
/// Resolution 16 ms; never early.
public final class DeadlineTimer: @unchecked Sendable {
    private let shard: Shard
    private let handler: () -> Void
    /// Nanoseconds of the monotonic clock; `max` while not set.
    var deadline = UInt64.max
    var slot = -1
    var slotTick: UInt64 = 0
    var next: Unmanaged<DeadlineTimer>?
    var previous: Unmanaged<DeadlineTimer>?

    /// Makes a timer that calls `handler` on the shard; the handler must not keep the timer's owner alive.
    public init(on shard: Shard, handler: @escaping () -> Void) {
        self.shard = shard
        self.handler = handler
    }

    deinit {
        if slot >= 0 {
            shard.remove(self)
        }
    }

    /// Whether the handler is still to be called.
    public var isSet: Bool { deadline != .max }

    /// Calls the handler once, when the duration from now has passed; replaces an earlier setting.
    public func set(after duration: Duration) {
        set(at: shard.now + duration)
    }

    /// Calls the handler once, when `instant` has passed; replaces an earlier setting. `distantFuture` cancels the timer.
    public func set(at instant: Instant) {
        deadline = instant.nanoseconds
        guard isSet else { return }
        // Its slot comes up earlier than the deadline: then it is looked at again.
        if slot >= 0, slotTick &* TimerWheel.tick <= deadline { return }
        if slot >= 0 {
            shard.remove(self)
        }
        shard.insert(self)
    }

    /// Forgets the deadline.
    public func cancel() {
        deadline = .max
    }

    /// Called when its slot has come up.
    func slotCameUp(now: UInt64) {
        guard deadline != .max else { return }
        guard deadline <= now else {
            shard.insert(self)
            return
        }
        deadline = .max
        handler()
    }
}
