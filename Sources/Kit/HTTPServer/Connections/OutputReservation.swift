import ChatterdBasics

/// The memory that a connection reserves for its unsent output. Confined to its shard.
struct OutputReservation {
    /// The reservation grows in steps of this size, in bytes.
    private static let step = 16 * 1024

    private var memory: MemoryReservation?

    /// The reserved bytes.
    var count: Int { memory?.count ?? 0 }

    /// Grows the reservation to cover `unsent` bytes. Returns `false` if the budget is exhausted.
    mutating func cover(_ unsent: Int, in budget: MemoryBudget) -> Bool {
        guard unsent > count else { return true }
        let wanted = (unsent / Self.step + 1) * Self.step
        if let memory {
            return memory.grow(to: wanted, for: .output)
        }
        memory = budget.reserve(wanted, for: .output)
        return memory != nil
    }

    /// Replaces the reservation by that of a response, reduced to `unsent` bytes.
    mutating func adopt(_ memory: MemoryReservation, unsent: Int) {
        memory.charge(to: unsent)
        memory.shrink(to: unsent)
        self.memory = memory
    }

    /// Releases the reserved bytes.
    mutating func release() {
        memory = nil
    }
}
