// For the server. `Synchronization` does not exist in the oldest systems of the libraries, which have this module too.
#if os(Linux)
    import Synchronization

    /// Bytes reserved in a `MemoryBudget`, and counted by the account of an app. The object releases them when it is deallocated. Safe on any thread.
    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    public final class MemoryReservation: Sendable {
        private let budget: MemoryBudget
        private let account: MemoryAccount?
        private let held: Atomic<Int>

        /// Takes over bytes that the budget and the account have counted.
        init(of count: Int, in budget: MemoryBudget, for account: MemoryAccount?) {
            self.budget = budget
            self.account = account
            held = Atomic(count)
        }

        deinit {
            release(count)
        }

        /// Sentence for the client when the reservation cannot grow, naming the limit.
        public var refusal: String { budget.refusal }

        /// The reserved bytes.
        public var count: Int { held.load(ordering: .relaxed) }

        /// Grows the reservation to `count` bytes if the share of `use` has room. Returns whether at least `count` bytes are reserved.
        public func grow(to count: Int, for use: MemoryUse) -> Bool {
            let more = count - self.count
            guard more > 0 else { return true }
            guard budget.admit(more, for: use, of: count, account) else { return false }
            held.wrappingAdd(more, ordering: .relaxed)
            return true
        }

        /// Grows the reservation to `count` bytes, also beyond the limit.
        public func charge(to count: Int) {
            let more = count - self.count
            guard more > 0 else { return }
            budget.add(more)
            account?.add(more)
            held.wrappingAdd(more, ordering: .relaxed)
        }

        /// Releases the bytes beyond `count`.
        public func shrink(to count: Int) {
            let less = self.count - count
            guard less > 0 else { return }
            release(less)
            held.wrappingSubtract(less, ordering: .relaxed)
        }

        /// Moves the bytes to a reservation that `account` counts, or no account for `nil`. The reservation stays the same if it has that
        /// account already.
        ///
        /// - Returns: the reservation; `nil` if the account has no room.
        public func moved(to account: MemoryAccount?, for use: MemoryUse) -> MemoryReservation? {
            if account === self.account { return self }
            guard account?.hasRoom(for: count, for: use, of: count) ?? true else { return nil }
            let count = held.exchange(0, ordering: .relaxed)
            self.account?.release(count)
            account?.add(count)
            return MemoryReservation(of: count, in: budget, for: account)
        }

        private func release(_ count: Int) {
            budget.release(count)
            account?.release(count)
        }
    }
#endif
