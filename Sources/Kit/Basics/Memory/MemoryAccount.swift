// For the server. `Synchronization` does not exist in the oldest systems of the libraries, which have this module too.
#if os(Linux)
    import Synchronization

    /// The reservations of one app. When they are a quarter of the budget, the account has no room for more bodies; from a third on, none for
    /// histories and results. The account never refuses its only reservation, output, or a small reservation: what fits into the budget is
    /// served, running answers can end, and ordinary prompts are served beside large ones of the same app. All of them count. Safe on any
    /// thread.
    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    public final class MemoryAccount: Sendable {
        /// The account of the task's app, which counts the task's new reservations; `nil` for work of the process itself.
        @TaskLocal public static var current: MemoryAccount?

        private let limit: Int
        private let reserved = Atomic<Int>(0)

        /// Creates an account without reservations.
        ///
        /// - Parameter part: the part of the budget that the limits divide, 1 for all of it.
        public init(in budget: MemoryBudget, part: Double = 1) {
            limit = Int(Double(budget.limit) * part)
        }

        /// The sum of the reservations, in bytes.
        public var reservedBytes: Int { reserved.load(ordering: .relaxed) }

        /// Whether the account has room for `count` bytes of a reservation that has `total` bytes afterwards.
        func hasRoom(for count: Int, for use: MemoryUse, of total: Int) -> Bool {
            let limit = use == .body ? limit / 4 : limit / 3
            return use == .output || total <= MemoryUse.small || reservedBytes + count <= limit
                || reservedBytes <= total - count
        }

        /// Whether the app has little, `count` further bytes included.
        func hasLittle(with count: Int) -> Bool { reservedBytes + count <= limit / 16 }

        /// Counts `count` bytes, also beyond the limit.
        func add(_ count: Int) {
            reserved.wrappingAdd(count, ordering: .relaxed)
        }

        func release(_ count: Int) {
            reserved.wrappingSubtract(count, ordering: .relaxed)
        }
    }
#endif
