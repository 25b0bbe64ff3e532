import LanguageModels

/// Where the conversations are kept. Confined to its shard.
///
/// Every method throws `storeUnavailable` when the store is away, too slow or read-only; then nothing, or all, was done.
public protocol ConversationStore: AnyObject, Sendable {
    /// Commits the prompts of a new turn at the end of a conversation; returns the turn and what it has to go on.
    func openTurn(appID: String, prompts: [ModelMessage]) async throws(RelayError) -> (Turn, TurnHistory)

    /// Closes an earlier turn of the same conversation as interrupted if its process is dead.
    ///
    /// - Returns: whether the turn is closed now, by whomever.
    func settleTurn(_ turn: Turn, isAbandoned: Bool) async throws(RelayError) -> Bool

    /// What a turn has to go on now.
    ///
    /// - Throws: `conversationReplaced` when the turn is gone.
    func history(of turn: Turn) async throws(RelayError) -> TurnHistory

    /// Stores the reply that closes a turn.
    ///
    /// May be called again after `storeUnavailable`: the reply is stored once, and its last state counts.
    /// - Throws: `conversationReplaced` when the turn is gone, `interrupted` when somebody else has closed it,
    ///   `replyNotStored` when the store refuses this reply.
    func closeTurn(_ turn: Turn, with reply: StoredReply) async throws(RelayError)

    /// Replaces a conversation by other messages, all at once.
    func replaceConversation(appID: String, with messages: [ModelMessage]) async throws(RelayError)
}
