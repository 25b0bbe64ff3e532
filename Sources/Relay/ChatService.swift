import LanguageModels

/// The use cases of the relay on one shard. Confined to its shard.
public final class ChatService: @unchecked Sendable {
    let store: any ConversationStore
    let models: ModelDirectory
    let limits: RelayLimits
    let board: TurnBoard
    let scheduler: Scheduler
    private let makeID: @Sendable () -> ReplyID
    private(set) var isStopping = false
    private var isEnding = false
    private var replies: [ObjectIdentifier: Reply] = [:]

    /// Makes the service of a shard; the board is the same for all shards of the process.
    public init(
        store: any ConversationStore, models: ModelDirectory, limits: RelayLimits, board: TurnBoard,
        scheduler: Scheduler,
        makeID: @escaping @Sendable () -> ReplyID
    ) {
        self.store = store
        self.models = models
        self.limits = limits
        self.board = board
        self.scheduler = scheduler
        self.makeID = makeID
    }

    /// Commits a prompt, and gives the reply that is to be run.
    ///
    /// - Throws: `overloaded`, `shuttingDown`, `storeUnavailable`; nothing is stored then.
    public func accept(_ request: ChatRequest) async throws(RelayError) -> Reply {
        try refuseWhenStopping()
        try board.promise(appID: request.appID)
        do throws(RelayError) {
            let id = makeID()
            let opening = TurnOpening(appID: request.appID, prompts: request.messages, id: id, model: request.model)
            guard case .opened(let turn, let history) = try await store.openTurn(opening) else {
                throw RelayError(
                    .internal, "The prompt could not be stored.", detail: "openTurn knew a key that was not given")
            }
            board.open(turn)
            let reply = Reply(id: id, turn: turn, request: request, history: history, service: self)
            replies[ObjectIdentifier(reply)] = reply
            if isEnding {
                // It was on its way when the others were ended.
                reply.cancel(Self.ending)
            }
            return reply
        } catch {
            board.giveUp(appID: request.appID)
            throw error
        }
    }

    /// Replaces a conversation; the model is not asked.
    ///
    /// A reply that is being made meanwhile ends with `conversationReplaced`.
    public func replaceConversation(_ request: ChatRequest) async throws(RelayError) {
        try refuseWhenStopping()
        try await store.replaceConversation(appID: request.appID, with: request.messages)
    }

    /// Takes no more prompts; replies that are running go on.
    public func stopAccepting() {
        isStopping = true
        for reply in replies.values {
            // Who waits for a store that is away must not hold up the stop.
            reply.wake()
        }
    }

    /// Ends the replies that are still running: their readers are told why.
    public func endReplies() {
        isEnding = true
        for reply in replies.values {
            reply.cancel(Self.ending)
        }
    }

    private static let ending = RelayError(.shuttingDown, "The server is being stopped. Ask again in a moment.")

    private func refuseWhenStopping() throws(RelayError) {
        guard !isStopping else {
            throw RelayError(.shuttingDown, "The server is being stopped. Try again in a moment.")
        }
    }

    func finished(_ reply: Reply) {
        replies[ObjectIdentifier(reply)] = nil
        board.close(reply.turn)
    }
}
