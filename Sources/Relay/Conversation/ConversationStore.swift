import ChatterdLanguageModels

/// The storage of conversations. Confined to its shard.
///
/// Every method throws `storeUnavailable` if the store is unavailable, too slow or read-only. The change is then done completely or
/// not at all. `isOutcomeUnknown` of the error says whether it may be done.
public protocol ConversationStore: AnyObject, Sendable {
    // MARK: - Turns

    /// Commits the prompts of a new turn and the place of its reply; returns the turn and what it has to go on.
    ///
    /// - Throws: `replyNotFound` when the parent is none of the conversation's, `idempotencyKeyReused` when the key came with
    ///   another body before.
    func openTurn(_ opening: TurnOpening) async throws(RelayError) -> TurnOpened

    /// The reply that a key was given to before, if it was.
    ///
    /// - Throws: `idempotencyKeyReused` when it came with another body.
    func knownReply(appID: String, key: IdempotencyKey) async throws(RelayError) -> ReplyID?

    /// The turn of a reply whose opening by this process is unconfirmed, with its history; `nil` if the turn is not open.
    func openedTurn(_ id: ReplyID, appID: String) async throws(RelayError) -> ReopenedTurn?

    /// Removes the turn of a reply whose opening by this process is unconfirmed. If the removal would change which turn later turns
    /// follow, the method closes the turn as interrupted instead.
    ///
    /// - Returns: whether the turn existed.
    func withdraw(_ id: ReplyID, appID: String) async throws(RelayError) -> Bool

    /// Commits the place of another answer to the prompt of a reply.
    ///
    /// - Throws: `replyNotFound`.
    func openAlternative(
        to reply: ReplyRecord, as id: ReplyID, model: String?, onInterrupt: InterruptPolicy
    ) async throws(RelayError) -> ReopenedTurn

    /// Adopts replies that other processes have handed over, and replies of dead processes that are to be regenerated. A reply
    /// outlives two dead owners at most.
    ///
    /// - Parameter limit: the maximum number of adopted replies.
    /// - Parameter known: replies that this process still runs although another process has adopted them. This process must learn
    ///   that first; otherwise it would generate them twice.
    /// - Parameter onClaim: called for each turn as soon as this process owns it, before its history is read.
    func adoptAbandoned(
        limit: Int, except known: [ReplyID], onClaim: (Turn, ReplyID) -> Void
    ) async throws(RelayError) -> [ReopenedTurn]

    /// Hands a reply of this process over to the other processes. Any of them can adopt it at once, with `adoptAbandoned`.
    ///
    /// - Parameters:
    ///   - attempt: the current attempt of this process.
    ///   - isEmpty: whether the reply has no text yet. A reply with text is handed over only if it is to be regenerated.
    /// - Returns: whether the reply is handed over. It is not if another process owns it, a client has stopped it, or it was handed
    ///   over too often.
    func handOver(_ turn: Turn, id: ReplyID, attempt: Int, isEmpty: Bool) async throws(RelayError) -> Bool

    /// Closes an earlier turn of a conversation as interrupted, with the text that is in the journal, if its process is dead.
    ///
    /// - Parameter isAbandoned: whether this process, if the turn is its own, knows nothing of it any more.
    /// - Parameter isUnwanted: whether a reply that is to be made again is closed all the same.
    /// - Returns: whether the turn is closed now, by whomever.
    func settleTurn(_ turn: Turn, isAbandoned: Bool, isUnwanted: Bool) async throws(RelayError) -> Bool

    /// Restarts a reply of this process: the attempt ends, and its journal no longer counts.
    ///
    /// The call may be repeated after `storeUnavailable`; the attempt ends once.
    /// - Returns: the number of the next attempt.
    /// - Throws: `conversationReplaced` if the turn is gone, `interrupted` if another process has closed or adopted it.
    func restartTurn(_ turn: Turn, id: ReplyID, attempt: Int) async throws(RelayError) -> Int

    /// What the turn of a reply has to go on now.
    ///
    /// - Throws: `conversationReplaced` when the reply is gone, be it that another one has its place.
    func history(of turn: Turn, for id: ReplyID) async throws(RelayError) -> TurnHistory

    /// Stores the end of the reply that closes a turn, behind its journal, and clears the journal.
    ///
    /// The fence is the attempt of `reply.journalled`. When the method returns, the store has the reply exactly as given. After
    /// `storeUnavailable` the outcome is unknown, and the close may still happen; the same call again finds out. The store keeps
    /// the reply once.
    /// - Throws: `conversationReplaced` if the turn is gone. `interrupted` if the stored reply differs or this process no longer
    ///   owns it: the store has the truth. This includes a journal with a gap: the store closes the reply with the text before the
    ///   gap. `replyNotStored` if the store refuses this reply permanently.
    func closeTurn(_ turn: Turn, with reply: ClosingReply) async throws(RelayError)

    // MARK: - Replies in the making

    /// An empty sheet for `journal`, of this or another store of the process.
    func makeJournalSheet() -> any JournalSheet

    /// Journals what replies of this process have grown by, all in one statement, and asks what others want of them.
    ///
    /// With nothing to journal it only asks. What is journalled twice from the same start counts once, the longer one.
    func journal(_ sheets: [any JournalSheet]) async throws(RelayError) -> [ReplySignal]

    /// Finds a reply by its name.
    func findReply(_ id: ReplyID) async throws(RelayError) -> ReplyRecord?

    /// Reads on in a reply: its journal while it is being made, its text afterwards; at most about 256 KiB.
    ///
    /// An empty page without an ending says that there is no more yet. The start is another one than asked for when the reply
    /// is of another attempt, or over and shorter than that.
    /// - Throws: `replyNotFound` when it is gone.
    func readReply(_ reply: ReplyRecord, from position: ReplyPosition) async throws(RelayError) -> ReplyPage

    /// Tells the process that makes a reply something; without effect when it is over.
    func signal(_ kind: ReplySignal.Kind, to reply: ReplyRecord) async throws(RelayError)

    // MARK: - Conversations

    /// Replaces a conversation by other messages, all at once.
    func replaceConversation(appID: String, with messages: [ModelMessage]) async throws(RelayError)

    /// Makes what is said next follow a reply.
    ///
    /// - Throws: `replyNotFound`; `replyNotComplete` when its turn would not be replayed.
    func choose(_ reply: ReplyRecord) async throws(RelayError)

    /// Removes a conversation, and all that belongs to it, in bounded batches.
    func deleteConversation(appID: String) async throws(RelayError)
}
