import ChatterdBasics
import ChatterdChat
import ChatterdIdentity
import ChatterdRelay

/// The kept histories of the process, in a limited number of bytes. Safe on any thread.
///
/// The cache has two generations: a used history moves to the younger one. When that has half of the bytes, the older one is dropped, and
/// the younger one becomes the older one. So a history is dropped only if it was not used for a long time, and no list orders the
/// histories (docs/decisions/0036-history-cache.md).
public final class HistoryCache: Sendable {
    /// The minimum number of messages of a kept history. A shorter one is read again as quickly as it is found.
    static let minimumMessages = 32

    private struct Generation {
        var histories: [ConversationKey: KeptHistory] = [:]
        var bytes = 0

        mutating func insert(_ history: KeptHistory) {
            remove(history.turn.conversation)
            histories[history.turn.conversation] = history
            bytes += history.memorySize
        }

        @discardableResult
        mutating func remove(_ conversation: ConversationKey) -> KeptHistory? {
            let removed = histories.removeValue(forKey: conversation)
            bytes -= removed?.memorySize ?? 0
            return removed
        }
    }

    private struct Generations {
        var young = Generation()
        var old = Generation()
        /// The memory of both.
        var memory: MemoryReservation?
    }

    /// The limit in bytes; 0 for no cache.
    private let limit: Int
    private let budget: MemoryBudget
    private let generations = Lock(Generations())

    /// Creates a cache.
    ///
    /// - Parameters:
    ///   - limit: the maximum size in bytes; 0 for no cache. The cache uses an eighth of the budget at most.
    ///   - budget: the memory of the process. The cache is emptied while the budget is short.
    public init(limit: Int, budget: MemoryBudget) {
        self.limit = min(limit, budget.limit / 8)
        self.budget = budget
    }

    /// The size of the kept histories in bytes.
    public var byteCount: Int { generations.withLock { $0.young.bytes + $0.old.bytes } }

    /// The kept history of a conversation.
    func history(of conversation: ConversationKey) -> KeptHistory? {
        guard limit > 0 else { return nil }
        return generations.withLock { generations in
            if let history = generations.young.histories[conversation] { return history }
            guard let history = generations.old.remove(conversation) else { return nil }
            insert(history, into: &generations)
            return history
        }
    }

    /// Keeps a history instead of the one before.
    func keep(_ history: KeptHistory) {
        guard limit > 0, history.messages.count >= Self.minimumMessages else { return }
        generations.withLock { generations in
            generations.old.remove(history.turn.conversation)
            generations.young.remove(history.turn.conversation)
            insert(history, into: &generations)
        }
    }

    /// Removes the history of a conversation.
    public func remove(_ conversation: ConversationKey) {
        guard limit > 0 else { return }
        generations.withLock { generations in
            generations.young.remove(conversation)
            generations.old.remove(conversation)
            account(for: &generations)
        }
    }

    /// Removes all histories, because memory is short.
    func removeAll() {
        generations.withLock { $0 = Generations() }
    }

    private func insert(_ history: KeptHistory, into generations: inout Generations) {
        // The limit holds in all cases: no generation has more than half of it.
        guard history.memorySize <= limit / 2 else {
            account(for: &generations)
            return
        }
        if generations.young.bytes + history.memorySize > limit / 2 {
            generations.old = generations.young
            generations.young = Generation()
        }
        generations.young.insert(history)
        account(for: &generations)
        if budget.isTight, generations.old.bytes > 0 {
            generations.old = Generation()
            account(for: &generations)
        }
    }

    private func account(for generations: inout Generations) {
        let bytes = generations.young.bytes + generations.old.bytes
        let memory = generations.memory ?? budget.charge(0, account: nil)
        memory.charge(to: bytes)
        memory.shrink(to: bytes)
        generations.memory = memory
    }
}
