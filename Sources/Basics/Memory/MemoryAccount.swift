import Synchronization

/// The reservations of one app. Together they get half of the share of a use: when they are a quarter of the budget, the account has no room
/// for more bodies; further on, none for histories, then none for results. Output, and small reservations, count and are not refused:
/// running answers can end, and ordinary prompts are served beside large ones of the same app. Safe on any thread.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
public final class MemoryAccount: Sendable {
    /// The account of the task's app, which counts the task's new reservations; `nil` for work of the process itself.
    @TaskLocal public static var current: MemoryAccount?

    /// The limit of the budget, in bytes.
    private let limit: Int
    private let parts: Int
    private let reserved = Atomic<Int>(0)

    /// Creates an account without reservations.
    ///
    /// - Parameter parts: the account gets one of so many equal parts of the share of a use.
    public init(in budget: MemoryBudget, parts: Int = 2) {
        limit = budget.limit
        self.parts = parts
    }

    /// The sum of the reservations, in bytes.
    public var reservedBytes: Int { reserved.load(ordering: .relaxed) }

    /// Whether the account has room for `count` bytes of a reservation that has `total` bytes afterwards.
    func hasRoom(for count: Int, for use: MemoryUse, of total: Int) -> Bool {
        use == .output || total <= MemoryUse.small || reservedBytes + count <= use.share(of: limit, for: total) / parts
    }

    /// Counts `count` bytes, also beyond the limit.
    func add(_ count: Int) {
        reserved.wrappingAdd(count, ordering: .relaxed)
    }

    func release(_ count: Int) {
        reserved.wrappingSubtract(count, ordering: .relaxed)
    }
}
