// For the server. `Synchronization` does not exist in the oldest systems of the libraries, which have this module too.
#if os(Linux)
    import Synchronization

    /// Memory budget of the process, in bytes. Request bodies, histories, database results and unsent output share it.
    ///
    /// The code that is about to hold a large buffer reserves its bytes first. A reservation fails when the budget is exhausted. Two
    /// figures limit a reservation: the sum of all reservations, which includes reserved memory that is not touched yet, and the last
    /// measured resident memory, which includes memory without a reservation. Safe on any thread.
    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    public final class MemoryBudget: Sendable {
        /// Returns the resident memory of the process in bytes; 0 if the system cannot measure it.
        public typealias Measure = @Sendable () -> Int

        /// The budget in bytes.
        public let limit: Int
        private let measure: Measure
        /// Resident memory before the first reservation, in bytes.
        private let base: Int
        private let reserved = Atomic<Int>(0)
        /// Resident memory at the last measurement plus the bytes reserved since, in bytes.
        private let resident: Atomic<Int>
        /// Bytes reserved since the last measurement.
        private let unmeasured = Atomic<Int>(0)
        private let refused = Lock<[MemoryUse: Int]>([:])

        /// Creates a budget of `limit` bytes. The initializer calls `measure` at once, before the process serves requests.
        public init(limit: Int, measure: @escaping Measure = { 0 }) {
            self.limit = limit
            self.measure = measure
            base = measure()
            resident = Atomic(base)
        }

        /// The sum of all reservations, in bytes.
        public var reservedBytes: Int { reserved.load(ordering: .relaxed) }

        /// The larger of the reserved memory and the resident memory, in bytes.
        public var usedBytes: Int { max(base + reservedBytes, resident.load(ordering: .relaxed)) }

        /// Whether more than half of the budget is in use. Buffers that only improve speed stay small then.
        public var isTight: Bool { usedBytes > limit / 2 }

        /// Whether output waits where it comes from rather than for a slow reader: a quarter of the budget is in use. Request bodies may use
        /// half of it, so that slow readers leave them room.
        public var isTightForOutput: Bool { usedBytes > limit / 4 }

        /// Reserves `count` bytes; `nil` if the share of `use`, or the account, has no room for them.
        public func reserve(
            _ count: Int, for use: MemoryUse, account: MemoryAccount? = .current
        ) -> MemoryReservation? {
            guard admit(count, for: use, of: count, account) else { return nil }
            return MemoryReservation(of: count, in: self, for: account)
        }

        /// Counts `count` bytes that the caller holds already. It always succeeds, also beyond the limits.
        public func charge(_ count: Int, account: MemoryAccount? = .current) -> MemoryReservation {
            add(count)
            account?.add(count)
            return MemoryReservation(of: count, in: self, for: account)
        }

        /// Measures the resident memory. Returns the bytes of it that have no reservation.
        @discardableResult
        public func update() -> Int {
            unmeasured.store(0, ordering: .relaxed)
            let measured = measure()
            resident.store(measured, ordering: .relaxed)
            return max(0, measured - base - reservedBytes)
        }

        /// The number of reservations that had no room, by their use.
        public var refusals: [MemoryUse: Int] { refused.withLock { $0 } }

        /// Sentence for the client, naming the limit.
        public var refusal: String {
            "The memory budget of the server (CHATTERD_MEMORY, \(limit / 1_048_576) MiB) is used up, or the app has its share of it. "
                + "Try again in a moment."
        }

        /// Counts `count` bytes for a reservation that has `total` bytes afterwards, if the share for that size and the account have room.
        func admit(_ count: Int, for use: MemoryUse, of total: Int, _ account: MemoryAccount?) -> Bool {
            guard count > 0, !take(count, for: use, of: total, account) else { return true }
            refused.withLock { $0[use, default: 0] += 1 }
            return false
        }

        /// Counts the bytes, unless the share or the account has no room.
        private func take(_ count: Int, for use: MemoryUse, of total: Int, _ account: MemoryAccount?) -> Bool {
            guard account?.hasRoom(for: count, for: use, of: total) ?? true else { return false }
            var share = use.share(of: limit, for: total)
            if use == .body, account?.hasLittle(with: count) ?? false {
                // What one app has does not keep out the prompts of others.
                share = max(share, limit / 8 * 5)
            }
            if unmeasured.load(ordering: .relaxed) > limit / 64 {
                update()
            }
            if usedBytes + count > share {
                // Memory may have been freed since it was measured last.
                update()
                guard usedBytes + count <= share else { return false }
            }
            add(count)
            account?.add(count)
            return true
        }

        func add(_ count: Int) {
            reserved.wrappingAdd(count, ordering: .relaxed)
            resident.wrappingAdd(count, ordering: .relaxed)
            unmeasured.wrappingAdd(count, ordering: .relaxed)
        }

        func release(_ count: Int) {
            reserved.wrappingSubtract(count, ordering: .relaxed)
        }
    }
#endif
