import Synchronization

/// Bytes reserved in a `MemoryBudget`. The object releases them when it is deallocated. Safe on any thread.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
public final class MemoryReservation: Sendable {
    private let budget: MemoryBudget
    private let held: Atomic<Int>

    init(of count: Int, in budget: MemoryBudget) {
        self.budget = budget
        held = Atomic(count)
    }

    deinit {
        budget.release(held.load(ordering: .relaxed))
    }

    /// Sentence for the client when the reservation cannot grow, naming the limit.
    public var refusal: String { budget.refusal }

    /// The reserved bytes.
    public var count: Int { held.load(ordering: .relaxed) }

    /// Grows the reservation to `count` bytes if the share of `use` has room. Returns whether at least `count` bytes are reserved.
    public func grow(to count: Int, for use: MemoryUse) -> Bool {
        let more = count - self.count
        guard more > 0 else { return true }
        guard budget.admit(more, for: use, of: count) else { return false }
        held.wrappingAdd(more, ordering: .relaxed)
        return true
    }

    /// Grows the reservation to `count` bytes, also beyond the limit.
    public func charge(to count: Int) {
        let more = count - self.count
        guard more > 0 else { return }
        budget.add(more)
        held.wrappingAdd(more, ordering: .relaxed)
    }

    /// Releases the bytes beyond `count`.
    public func shrink(to count: Int) {
        let less = self.count - count
        guard less > 0 else { return }
        budget.release(less)
        held.wrappingSubtract(less, ordering: .relaxed)
    }
}
