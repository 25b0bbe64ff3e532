import ChatterdBasics

/// A deadline on a shard. It can be set, postponed and cancelled any number of times. Confined to its shard.
///
/// The resolution is 16 ms. The handler is never called early.
public final class DeadlineTimer {
    private let shard: Shard
    private let handler: () -> Void
    /// Nanoseconds of the monotonic clock; `max` while the timer is not set.
    var deadline = UInt64.max
    /// The slot of the wheel that has the timer; -1 outside the wheel.
    var slot = -1
    /// The tick at which the slot comes up.
    var slotTick: UInt64 = 0
    /// The neighbours in the list of the slot.
    var next: Unmanaged<DeadlineTimer>?
    var previous: Unmanaged<DeadlineTimer>?

    /// Creates a timer that calls `handler` on the shard. The handler must not retain the owner of the timer.
    public init(on shard: Shard, handler: @escaping () -> Void) {
        self.shard = shard
        self.handler = handler
    }

    deinit {
        if slot >= 0 {
            shard.remove(self)
        }
    }

    /// Whether a deadline is set that has not passed.
    public var isSet: Bool { deadline != .max }

    /// Calls the handler once, after `duration` from now; replaces an earlier setting.
    public func set(after duration: Duration) {
        set(at: shard.now + duration)
    }

    /// Calls the handler once, when `instant` has passed; replaces an earlier setting. `distantFuture` cancels the timer.
    public func set(at instant: Instant) {
        deadline = instant.nanoseconds
        guard isSet else { return }
        // The slot comes up before the deadline, and moves the timer to its new slot.
        if slot >= 0, slotTick &* TimerWheel.tick <= deadline { return }
        if slot >= 0 {
            shard.remove(self)
        }
        shard.insert(self)
    }

    /// Removes the deadline.
    public func cancel() {
        deadline = .max
    }

    /// Called by the shard when the slot of the timer comes up.
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
