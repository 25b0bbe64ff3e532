/// The deadlines of a shard. Setting, moving and cancelling one takes constant time.
///
/// This is a hashed wheel of 1,024 slots of 16 ms. A timer whose deadline moves later keeps its slot until the slot comes up, and moves
/// to its new slot then: a stream that postpones its deadline with every token pays one store.
struct TimerWheel {
    /// The number of slots.
    static let slotCount = 1024
    /// The duration of a slot, in nanoseconds.
    static let tick: UInt64 = 16_000_000

    /// The first timer of each slot.
    private var heads: [Unmanaged<DeadlineTimer>?] = Array(repeating: nil, count: slotCount)
    /// One bit for each slot, set if the slot has a timer.
    private var occupied: [UInt64] = Array(repeating: 0, count: slotCount / 64)
    /// The next tick to examine.
    private var position: UInt64
    /// The number of timers.
    private var count = 0

    init(now: UInt64) {
        position = now / Self.tick
    }

    /// Puts a timer into the slot of its deadline, or into the last slot that the wheel reaches.
    mutating func insert(_ timer: DeadlineTimer, now: UInt64) {
        if count == 0 {
            // The position of an empty wheel does not advance with the clock.
            position = max(position, now / Self.tick)
        }
        count += 1
        // Rounded up, so that no timer fires early.
        let wanted = (timer.deadline &+ Self.tick - 1) / Self.tick
        let tick = min(max(wanted, position), position + UInt64(Self.slotCount - 1))
        let slot = Int(tick % UInt64(Self.slotCount))
        timer.slot = slot
        timer.slotTick = tick
        timer.previous = nil
        timer.next = heads[slot]
        heads[slot]?._withUnsafeGuaranteedRef { $0.previous = Unmanaged.passUnretained(timer) }
        heads[slot] = Unmanaged.passUnretained(timer)
        occupied[slot / 64] |= 1 << UInt64(slot % 64)
    }

    /// Removes a timer.
    mutating func remove(_ timer: DeadlineTimer) {
        let slot = timer.slot
        guard slot >= 0 else { return }
        count -= 1
        if let previous = timer.previous {
            previous._withUnsafeGuaranteedRef { $0.next = timer.next }
        } else {
            heads[slot] = timer.next
            if timer.next == nil {
                occupied[slot / 64] &= ~(1 << UInt64(slot % 64))
            }
        }
        timer.next?._withUnsafeGuaranteedRef { $0.previous = timer.previous }
        timer.next = nil
        timer.previous = nil
        timer.slot = -1
    }

    /// Removes and returns a timer whose slot has come up by `now`; `nil` if there is none left.
    mutating func next(dueBy now: UInt64) -> DeadlineTimer? {
        let last = now / Self.tick
        while position <= last {
            let slot = Int(position % UInt64(Self.slotCount))
            var candidate = heads[slot]
            while let timer = candidate?.takeUnretainedValue() {
                if timer.slotTick <= position {
                    remove(timer)
                    return timer
                }
                candidate = timer.next
            }
            position += 1
        }
        return nil
    }

    /// When `next(dueBy:)` must be called next, in nanoseconds of the monotonic clock; `nil` if the wheel is empty.
    var nextDeadline: UInt64? {
        let from = Int(position % UInt64(Self.slotCount))
        for offset in 0...(Self.slotCount / 64) {
            let word = (from / 64 + offset) % occupied.count
            var bits = occupied[word]
            if offset == 0 {
                bits &= ~0 << UInt64(from % 64)
            } else if offset == occupied.count {
                bits &= ~(~0 << UInt64(from % 64))
            }
            if bits != 0 {
                let slot = word * 64 + bits.trailingZeroBitCount
                let ahead = (slot - from + Self.slotCount) % Self.slotCount
                return (position + UInt64(ahead)) * Self.tick
            }
        }
        return nil
    }
}
