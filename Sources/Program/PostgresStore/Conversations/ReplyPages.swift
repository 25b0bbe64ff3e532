import ChatterdBasics
import ChatterdRelay
import ChatterdSockets

/// Pages of long closed replies, shared by all readers of a shard. Confined to its shard.
///
/// PostgreSQL decompresses a whole text to read any part of it. So one query reads several pages, and the cache keeps them for a
/// short time. Readers that need the same page at the same time share one query.
final class ReplyPages {
    private struct Key: Hashable {
        let reply: ReplyID
        let position: ReplyPosition
    }

    private struct CachedPage {
        let key: Key
        let page: ReplyPage
        let expiry: Instant
    }

    private let shard: Shard
    private let budget: MemoryBudget
    /// The lifetime of a page.
    private let lifetime: Duration
    /// The size limit of all cached pages, in bytes.
    private let limit: Int
    private var pages: [Key: ReplyPage] = [:]
    /// The cached pages in the order of their expiry.
    private var queue = Queue<CachedPage>()
    private var memory: MemoryReservation?
    private var size = 0
    private var waiting: [Key: [UnsafeContinuation<Result<ReplyPage, RelayError>, Never>]] = [:]
    private lazy var timer = DeadlineTimer(on: shard) { [unowned self] in removeExpired() }

    init(on shard: Shard, budget: MemoryBudget, lifetime: Duration) {
        self.shard = shard
        self.budget = budget
        self.lifetime = lifetime
        limit = min(budget.limit / 16, 64 << 20)
    }

    /// The cached page at a position; `nil` if the cache lacks it.
    func page(of reply: ReplyID, from position: ReplyPosition) -> ReplyPage? {
        pages[Key(reply: reply, position: position)]
    }

    /// Reads the page at a position of a closed reply once for all callers that need it at the same time.
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

    /// Caches pages, as far as they fit.
    func store(_ more: [ReplyPage], of reply: ReplyID) {
        for page in more {
            let key = Key(reply: reply, position: page.start)
            guard pages[key] == nil else { continue }
            while !queue.isEmpty, size + page.size > limit {
                removeFirst()
            }
            guard size + page.size <= limit else { continue }
            let memory = memory ?? budget.charge(0, account: nil)
            self.memory = memory
            guard memory.grow(to: size + page.size, for: .result) else { continue }
            size += page.size
            pages[key] = page
            queue.append(CachedPage(key: key, page: page, expiry: now + lifetime))
        }
        setTimer()
    }

    private var now: Instant { shard.now }

    private func removeExpired() {
        while let first = queue.first, first.expiry <= now {
            removeFirst()
        }
        setTimer()
    }

    private func removeFirst() {
        guard let first = queue.popFirst() else { return }
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
    /// The approximate size of the page in memory, in bytes.
    fileprivate var size: Int {
        text.count + thinking.count + toolCalls.count + (ending?.lastEvent.count ?? 0) + (steps?.size ?? 0) + 512
    }
}
