import Bytes
import Relay
import Sockets

/// Pages of long replies that are over, shared by all who read them on a shard. Confined to its shard.
///
/// PostgreSQL has to unpack a whole text for any part of it. So what one reader needs is read together with some of what follows,
/// and kept for a short while; readers who ask at the same time share one query.
final class ReplyPages: @unchecked Sendable {
    private struct Key: Hashable {
        let reply: ReplyID
        let position: ReplyPosition
    }

    private struct Kept {
        let key: Key
        let page: ReplyPage
        let expiry: UInt64
    }

    private let shard: Shard
    private let budget: MemoryBudget
    /// How long a page is kept, in nanoseconds.
    private let lifetime: UInt64
    /// The bytes of all pages that are kept.
    private let limit: Int
    private var pages: [Key: ReplyPage] = [:]
    /// In the order in which they were read.
    private var queue: [Kept] = []
    private var memory: MemoryReservation?
    private var size = 0
    private var waiting: [Key: [UnsafeContinuation<Result<ReplyPage, RelayError>, Never>]] = [:]
    private lazy var timer = DeadlineTimer(on: shard) { [unowned self] in removeExpired() }

    init(on shard: Shard, budget: MemoryBudget, lifetime: Duration) {
        self.shard = shard
        self.budget = budget
        self.lifetime = lifetime.nanoseconds
        limit = min(budget.limit / 16, 64 << 20)
    }

    /// The page at a position, if it is kept.
    func page(of reply: ReplyID, from position: ReplyPosition) -> ReplyPage? {
        pages[Key(reply: reply, position: position)]
    }

    /// Has one of those read who want the page at a position of a reply that is over; the others wait for it.
    func shared(
        _ reply: ReplyID, from position: ReplyPosition, _ read: () async throws(RelayError) -> ReplyPage
    ) async throws(RelayError) -> ReplyPage {
        let key = Key(reply: reply, position: position)
        if waiting[key] != nil {
            return try await withUnsafeContinuation { waiting[key]?.append($0) }.get()
        }
        waiting[key] = []
        let outcome: Result<ReplyPage, RelayError>
        do throws(RelayError) {
            outcome = .success(try await read())
        } catch {
            outcome = .failure(error)
        }
        for continuation in waiting.removeValue(forKey: key) ?? [] {
            continuation.resume(returning: outcome)
        }
        return try outcome.get()
    }

    /// Keeps pages that were read, as far as there is room for them.
    func keep(_ more: [ReplyPage], of reply: ReplyID) {
        for page in more {
            let key = Key(reply: reply, position: page.start)
            guard pages[key] == nil else { continue }
            while !queue.isEmpty, size + page.size > limit {
                removeFirst()
            }
            guard size + page.size <= limit else { continue }
            let memory = memory ?? budget.charge(0)
            self.memory = memory
            guard memory.grow(to: size + page.size, for: .result) else { continue }
            size += page.size
            pages[key] = page
            queue.append(Kept(key: key, page: page, expiry: shard.now &+ lifetime))
        }
        setTimer()
    }

    private func removeExpired() {
        while let first = queue.first, first.expiry <= shard.now {
            removeFirst()
        }
        setTimer()
    }

    private func removeFirst() {
        let first = queue.removeFirst()
        pages[first.key] = nil
        size -= first.page.size
        memory?.shrink(to: size)
    }

    private func setTimer() {
        if let first = queue.first {
            timer.set(at: first.expiry)
        } else {
            timer.cancel()
        }
    }
}

extension ReplyPage {
    /// The bytes that it takes in memory, about.
    fileprivate var size: Int {
        text.count + thinking.count + toolCalls.count + (ending?.lastEvent.count ?? 0) + 512
    }
}
