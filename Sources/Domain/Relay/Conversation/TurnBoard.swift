import ChatterdBasics
import ChatterdIdentity

/// The open turns of this process, on all shards, and the replies that wait for their ends.
public final class TurnBoard: Sendable {
    /// An open turn.
    private struct Entry {
        let number: Int64
        let id: ReplyID
        /// The idempotency key of the request; empty if it has none.
        let key: ExactText
    }

    private struct Conversation {
        /// The open turns; a list, because there is rarely more than one. After a deletion, a new turn can have the same number as a
        /// turn whose reply has not ended yet.
        var open: [Entry] = []
        /// The handlers by the number of the awaited turn, then by the waiting reply.
        var waiters: [Int64: [ReplyID: @Sendable () -> Void]] = [:]

        var count: Int { open.count }

        func contains(key: ExactText) -> Bool { open.contains { $0.key == key } }

        func isOpen(_ number: Int64) -> Bool { open.contains { $0.number == number } }

        mutating func insert(_ turn: Entry) {
            open.removeAll { $0.number == turn.number && $0.id == turn.id }
            open.append(turn)
        }

        /// Removes a turn. Returns whether it was open.
        mutating func remove(_ number: Int64, _ id: ReplyID) -> Bool {
            guard let index = open.firstIndex(where: { $0.number == number && $0.id == id }) else { return false }
            open.remove(at: index)
            return true
        }
    }

    /// The reservations of one conversation for turns that are about to be opened.
    private struct Reservations {
        var count = 0
        /// The number of requests with each key.
        var keys: [ExactText: Int] = [:]

        /// The number of reserved turns. Requests with the same key open one turn.
        var turns: Int { count - keys.values.reduce(0) { $0 + $1 - 1 } }
    }

    private struct State {
        var conversations: [ConversationKey: Conversation] = [:]
        var reserved: [ConversationKey: Reservations] = [:]
        var count = 0
        /// The part of `count` of each app.
        var apps: [ExactText: Int] = [:]
        /// The callers of `waitUntilEmpty`.
        var emptyWaiters: [CheckedContinuation<Void, Never>] = []

        mutating func countUp(_ app: ExactText) {
            count += 1
            apps[app, default: 0] += 1
        }

        /// Counts a turn down. Returns the callers of `waitUntilEmpty` if it was the last one.
        mutating func countDown(_ app: ExactText) -> [CheckedContinuation<Void, Never>] {
            let left = (apps[app] ?? 1) - 1
            apps[app] = left > 0 ? left : nil
            count -= 1
            guard count == 0 else { return [] }
            defer { emptyWaiters = [] }
            return emptyWaiters
        }

        mutating func removeReservation(in conversation: ConversationKey, key: ExactText?) {
            guard var left = reserved[conversation] else { return }
            left.count -= 1
            if let key, let same = left.keys[key] {
                left.keys[key] = same > 1 ? same - 1 : nil
            }
            reserved[conversation] = left.count > 0 ? left : nil
        }
    }

    /// The turns whose opening is unconfirmed.
    public let unconfirmed = UnconfirmedOpenings()
    private let state = Lock(State())
    private let limits: RelayLimits

    /// Creates an empty board.
    public init(limits: RelayLimits) {
        self.limits = limits
    }

    /// The number of open turns, reservations and passed-on requests.
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

    /// The replies with open turns of a conversation before a turn.
    func replies(before turn: Turn) -> [ReplyID] {
        state.withLock { state in
            (state.conversations[turn.conversation]?.open ?? []).filter { $0.number < turn.number }.map(\.id)
        }
    }

    /// Reserves a turn that is about to be opened. `open` or `cancelReservation` must follow.
    ///
    /// - Parameter key: the idempotency key of the request. A request with a known key opens no further turn.
    /// - Throws: `overloaded` if the limit of the process, of the app or of the conversation is reached.
    func reserveTurn(in conversation: ConversationKey, key: String? = nil) throws(RelayError) {
        let app = Self.app(of: conversation)
        let key = key.map(ExactText.init)
        try state.withLock { state throws(RelayError) in
            try require(state, app)
            var reservations = state.reserved[conversation] ?? Reservations()
            let turns = state.conversations[conversation] ?? Conversation()
            let ahead = turns.count + reservations.turns
            let isKnown = key.map { reservations.keys[$0] != nil || turns.contains(key: $0) } ?? false
            guard isKnown || ahead <= limits.maximumWaitingTurns else { throw Self.tooManyWait(ahead - 1) }
            reservations.count += 1
            if let key {
                reservations.keys[key, default: 0] += 1
            }
            state.reserved[conversation] = reservations
            state.countUp(app)
        }
    }

    /// The error for a prompt of a conversation with a running reply and `count` waiting prompts.
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

    /// The app whose share a turn of a conversation counts towards.
    private static func app(of conversation: ConversationKey) -> ExactText { ExactText(conversation.owner.app) }

    private func require(_ state: State, _ app: ExactText) throws(RelayError) {
        guard state.count < limits.maximumReplies else { throw Self.full }
        // Requests without an app come from different people.
        let count = app.text.isEmpty ? 0 : state.apps[app] ?? 0
        guard count < limits.repliesOfApp else {
            throw RelayError(
                .overloaded,
                "The app has \(count) prompts that are being answered, which is its share of the server. Try again when one is answered."
            )
        }
    }

    /// Counts a request without a turn towards the limits of replies. `release` must follow.
    ///
    /// - Parameter app: the app that the request acts for; empty for none.
    /// - Throws: `overloaded` if the limit of the process or of the app is reached.
    func reserve(for app: String) throws(RelayError) {
        let app = ExactText(app)
        try state.withLock { state throws(RelayError) in
            try require(state, app)
            state.countUp(app)
        }
    }

    /// Reserves a turn that may be open already, without a limit. `open` or `cancelReservation` must follow.
    func reserveTurnWithoutLimit(in conversation: ConversationKey) {
        state.withLock { state in
            state.reserved[conversation, default: Reservations()].count += 1
            state.countUp(Self.app(of: conversation))
        }
    }

    /// Ends the count of a request without a turn.
    func release(for app: String) {
        Self.resume(state.withLock { $0.countDown(ExactText(app)) })
    }

    /// Cancels a reservation.
    func cancelReservation(in conversation: ConversationKey, key: String? = nil) {
        let empty = state.withLock { state in
            state.removeReservation(in: conversation, key: key.map(ExactText.init))
            return state.countDown(Self.app(of: conversation))
        }
        Self.resume(empty)
    }

    /// Replaces a reservation by the open turn.
    func open(_ turn: Turn, for id: ReplyID, key: String? = nil) {
        state.withLock { state in
            state.removeReservation(in: turn.conversation, key: key.map(ExactText.init))
            state.conversations[turn.conversation, default: Conversation()].insert(
                Entry(number: turn.number, id: id, key: ExactText(key ?? "")))
        }
    }

    /// Adds an adopted turn.
    func adopt(_ turn: Turn, for id: ReplyID) {
        state.withLock { state in
            state.countUp(Self.app(of: turn.conversation))
            state.conversations[turn.conversation, default: Conversation()].insert(
                Entry(number: turn.number, id: id, key: ExactText("")))
        }
    }

    /// Removes the turn of a reply, and calls the handlers of the replies that wait for its end.
    func close(_ turn: Turn, for id: ReplyID) {
        let (waiters, empty) = state.withLock { state in
            guard var conversation = state.conversations[turn.conversation], conversation.remove(turn.number, id)
            else {
                return ([ReplyID: @Sendable () -> Void](), [CheckedContinuation<Void, Never>]())
            }
            let waiters = conversation.waiters.removeValue(forKey: turn.number) ?? [:]
            state.conversations[turn.conversation] = conversation.open.isEmpty ? nil : conversation
            return (waiters, state.countDown(Self.app(of: turn.conversation)))
        }
        for wake in waiters.values {
            wake()
        }
        Self.resume(empty)
    }

    /// Whether this process does not run the turn, and so will not close it.
    public func isAbandoned(_ turn: Turn) -> Bool {
        state.withLock { state in
            let conversation = turn.conversation
            // A reservation may be for this turn, which may be committed and not on the board yet.
            return state.conversations[conversation]?.isOpen(turn.number) != true && state.reserved[conversation] == nil
        }
    }

    /// Registers `wake`, which is called once, on any thread, when a turn with this number is closed. Replaces an earlier handler of
    /// `waiter`.
    ///
    /// - Returns: whether the turn is open here; if not, `wake` is not called.
    func whenClosed(_ turn: Turn, for waiter: ReplyID, wake: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { state in
            let conversation = turn.conversation
            guard state.conversations[conversation]?.isOpen(turn.number) == true else { return false }
            state.conversations[conversation]?.waiters[turn.number, default: [:]][waiter] = wake
            return true
        }
    }

    /// Removes the handler that `waiter` has registered with `whenClosed`.
    func stopWaiting(_ waiter: ReplyID, for turn: Turn) {
        state.withLock { state in
            _ = state.conversations[turn.conversation]?.waiters[turn.number]?.removeValue(forKey: waiter)
        }
    }
}
