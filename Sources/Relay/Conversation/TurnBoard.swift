import ChatterdBasics

/// The turns that are open in this process, on any shard: who is alive, and who waits for whom.
public final class TurnBoard: Sendable {
    private struct OpenTurn {
        let number: Int64
        let id: ReplyID
        /// The key that it was asked for with; empty for none.
        let key: String
    }

    private struct Conversation {
        /// The open turns; a list, as there is one, and seldom more. A place can be used again after a deletion, while the
        /// reply that had it before still ends.
        var open: [OpenTurn] = []
        /// By the turn that is waited for, then by the reply that waits.
        var waiters: [Int64: [ReplyID: @Sendable () -> Void]] = [:]

        var count: Int { open.count }

        func knows(_ key: String) -> Bool { open.contains { $0.key == key } }

        func isOpen(_ number: Int64) -> Bool { open.contains { $0.number == number } }

        mutating func insert(_ turn: OpenTurn) {
            open.removeAll { $0.number == turn.number && $0.id == turn.id }
            open.append(turn)
        }

        /// Says whether it was there.
        mutating func remove(_ number: Int64, _ id: ReplyID) -> Bool {
            guard let index = open.firstIndex(where: { $0.number == number && $0.id == id }) else { return false }
            open.remove(at: index)
            return true
        }
    }

    /// Places of one conversation that are taken for turns that are about to be opened.
    private struct Promises {
        var count = 0
        /// How many requests have a key, by the key.
        var keys: [String: Int] = [:]

        /// Requests with one key come to one turn.
        var turns: Int { count - keys.values.reduce(0) { $0 + $1 - 1 } }
    }

    private struct State {
        var conversations: [String: Conversation] = [:]
        var promised: [String: Promises] = [:]
        var count = 0
        /// The callers of `waitUntilEmpty`.
        var emptyWaiters: [CheckedContinuation<Void, Never>] = []

        /// Counts a turn down. Returns the callers of `waitUntilEmpty` if it was the last one.
        mutating func countDown() -> [CheckedContinuation<Void, Never>] {
            count -= 1
            guard count == 0 else { return [] }
            defer { emptyWaiters = [] }
            return emptyWaiters
        }

        mutating func endPromise(_ appID: String, key: String?) {
            guard var left = promised[appID] else { return }
            left.count -= 1
            if let key, let same = left.keys[key] {
                left.keys[key] = same > 1 ? same - 1 : nil
            }
            promised[appID] = left.count > 0 ? left : nil
        }
    }

    /// The turns whose opening is unconfirmed.
    public let unconfirmed = UnconfirmedOpenings()
    private let state = Lock(State())
    private let limits: RelayLimits

    /// Makes an empty board.
    public init(limits: RelayLimits) {
        self.limits = limits
    }

    /// The number of turns that are open or about to be.
    public var count: Int { state.withLock { $0.count } }

    /// Returns when `count` is 0.
    public func waitUntilEmpty() async {
        await withCheckedContinuation { continuation in
            let isEmpty = state.withLock { state in
                guard state.count > 0 else { return true }
                state.emptyWaiters.append(continuation)
                return false
            }
            if isEmpty {
                continuation.resume()
            }
        }
    }

    private static func resume(_ continuations: [CheckedContinuation<Void, Never>]) {
        for continuation in continuations {
            continuation.resume()
        }
    }

    /// The replies with open turns.
    var replies: [ReplyID] {
        state.withLock { state in state.conversations.values.flatMap { $0.open.map(\.id) } }
    }

    /// Takes a place for a turn that is about to be opened; `open` or `giveUp` follows.
    ///
    /// - Parameter key: the client's name for the request. One that is known to the board will open no further turn.
    /// - Throws: `overloaded` when the process or the conversation has no more.
    func promise(appID: String, key: String? = nil) throws(RelayError) {
        try state.withLock { state throws(RelayError) in
            guard state.count < limits.replies else { throw Self.full }
            var promises = state.promised[appID] ?? Promises()
            let conversation = state.conversations[appID] ?? Conversation()
            let ahead = conversation.count + promises.turns
            let isKnown = key.map { promises.keys[$0] != nil || conversation.knows($0) } ?? false
            guard isKnown || ahead <= limits.waitingTurns else { throw Self.tooManyWait(ahead - 1) }
            promises.count += 1
            if let key {
                promises.keys[key, default: 0] += 1
            }
            state.promised[appID] = promises
            state.count += 1
        }
    }

    /// Refuses a prompt while one of its conversation is being answered, and so many wait for that.
    private static func tooManyWait(_ count: Int) -> RelayError {
        let ahead =
            switch count {
            case 0: "A prompt of this conversation is being answered already. Try again when it is answered."
            case 1: "1 prompt of this conversation is waiting already. Try again when it is answered."
            default: "\(count) prompts of this conversation are waiting already. Try again when they are answered."
            }
        return RelayError(.overloaded, ahead)
    }

    private static let full = RelayError(
        .overloaded, "The server is answering as many prompts as it can. Try again in a moment.")

    /// Reserves a place for a request without a turn; `release` must follow.
    ///
    /// - Throws: `overloaded` if the process has no place left.
    func reserve() throws(RelayError) {
        try state.withLock { state throws(RelayError) in
            guard state.count < limits.replies else { throw Self.full }
            state.count += 1
        }
    }

    /// Reserves a place for a turn that may be open already, without a limit; `open` or `giveUp` must follow.
    func reserve(appID: String) {
        state.withLock { state in
            state.promised[appID, default: Promises()].count += 1
            state.count += 1
        }
    }

    /// Releases the place of a request without a turn.
    func release() {
        Self.resume(state.withLock { $0.countDown() })
    }

    /// Gives a promised place back.
    func giveUp(appID: String, key: String? = nil) {
        let empty = state.withLock { state in
            state.endPromise(appID, key: key)
            return state.countDown()
        }
        Self.resume(empty)
    }

    /// Turns a promised place into an open turn.
    func open(_ turn: Turn, for id: ReplyID, key: String? = nil) {
        state.withLock { state in
            state.endPromise(turn.appID, key: key)
            state.conversations[turn.appID, default: Conversation()].insert(
                OpenTurn(number: turn.number, id: id, key: key ?? ""))
        }
    }

    /// Takes in a turn that another process has left behind.
    func adopt(_ turn: Turn, for id: ReplyID) {
        state.withLock { state in
            state.count += 1
            state.conversations[turn.appID, default: Conversation()].insert(
                OpenTurn(number: turn.number, id: id, key: ""))
        }
    }

    /// Takes the turn of a reply off the board, and wakes who waits for it.
    func close(_ turn: Turn, for id: ReplyID) {
        let (waiters, empty) = state.withLock { state in
            guard var conversation = state.conversations[turn.appID], conversation.remove(turn.number, id) else {
                return ([ReplyID: @Sendable () -> Void](), [CheckedContinuation<Void, Never>]())
            }
            let waiters = conversation.waiters.removeValue(forKey: turn.number) ?? [:]
            state.conversations[turn.appID] = conversation.open.isEmpty ? nil : conversation
            return (waiters, state.countDown())
        }
        for wake in waiters.values {
            wake()
        }
        Self.resume(empty)
    }

    /// Whether this process runs no such turn: nobody here would close it.
    public func isAbandoned(_ turn: Turn) -> Bool {
        state.withLock { state in
            // A promise may be for this very turn: committed, and not yet on the board.
            state.conversations[turn.appID]?.isOpen(turn.number) != true && state.promised[turn.appID] == nil
        }
    }

    /// Has `wake` called once, from any thread, when a reply at that place is closed; replaces an earlier wish of `waiter`.
    ///
    /// - Returns: whether the turn is open here, and `wake` will be called.
    func whenClosed(_ turn: Turn, for waiter: ReplyID, wake: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { state in
            guard state.conversations[turn.appID]?.isOpen(turn.number) == true else { return false }
            state.conversations[turn.appID]?.waiters[turn.number, default: [:]][waiter] = wake
            return true
        }
    }

    /// Forgets what `waiter` asked for with `whenClosed`.
    func stopWaiting(_ waiter: ReplyID, for turn: Turn) {
        state.withLock { state in
            _ = state.conversations[turn.appID]?.waiters[turn.number]?.removeValue(forKey: waiter)
        }
    }
}
