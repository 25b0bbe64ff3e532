import Synchronization

/// Bytes reserved in a `MemoryBudget`, given back when this object goes. Safe on any thread.
public final class MemoryReservation: Sendable {
    private let budget: MemoryBudget
    private let held: Atomic<Int>

    init(of count: Int, in budget: MemoryBudget) {
        self.budget = budget
        held = Atomic(count)
    }

    deinit {
        budget.giveBack(held.load(ordering: .relaxed))
    }

    /// What a client is told when it cannot grow.
    public var refusal: String { budget.refusal }

    /// The bytes that are reserved.
    public var count: Int { held.load(ordering: .relaxed) }

    /// Reserves more, if the share of `use` has room for it; returns whether `count` bytes are reserved now.
    public func grow(to count: Int, for use: MemoryUse) -> Bool {
        let more = count - self.count
        guard more > 0 else { return true }
        guard budget.take(more, for: use, of: count) else { return false }
        held.wrappingAdd(more, ordering: .relaxed)
        return true
    }

    /// Notes that more is held, whether there is room for it or not.
    public func charge(to count: Int) {
        let more = count - self.count
        guard more > 0 else { return }
        budget.add(more)
        held.wrappingAdd(more, ordering: .relaxed)
    }

    /// Gives back what is reserved beyond `count` bytes.
    public func shrink(to count: Int) {
        let less = self.count - count
        guard less > 0 else { return }
        budget.giveBack(less)
        held.wrappingSubtract(less, ordering: .relaxed)
    }
}
