import Synchronization

/// The reservations of one app, which together are at most half of the budget. Safe on any thread.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
public final class MemoryAccount: Sendable {
    /// The account of the task's app, which counts the task's new reservations; `nil` for work of the process itself.
    @TaskLocal public static var current: MemoryAccount?

    private let limit: Int
    private let reserved = Atomic<Int>(0)

    /// Creates an account without reservations in `budget`.
    public init(in budget: MemoryBudget) {
        limit = budget.limit / 2
    }

    /// The sum of the reservations, in bytes.
    public var reservedBytes: Int { reserved.load(ordering: .relaxed) }

    /// Counts `count` bytes if the account has room for them.
    func admit(_ count: Int) -> Bool {
        guard reserved.wrappingAdd(count, ordering: .relaxed).newValue <= limit else {
            release(count)
            return false
        }
        return true
    }

    /// Counts `count` bytes, also beyond the limit.
    func add(_ count: Int) {
        reserved.wrappingAdd(count, ordering: .relaxed)
    }

    func release(_ count: Int) {
        reserved.wrappingSubtract(count, ordering: .relaxed)
    }
}
