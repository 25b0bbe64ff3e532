import ChatterdChat
import ChatterdIdentity

/// The storage of conversations. Confined to its shard.
///
/// Every method throws `storeUnavailable` if the store is unavailable, too slow or read-only. The change is then done completely or
/// not at all. `isOutcomeUnknown` of the error says whether it may be done.
public protocol ConversationStore: AnyObject, Sendable {
    // MARK: - Turns

    /// Commits the prompts of a new turn and reserves the `seq` of its reply.
    ///
    /// - Returns: the turn with its history, or the known reply of the idempotency key.
    /// With `whenBusy` of `stop` or `replace`, the same transaction sends a stop signal to each running reply of the conversation.
    /// - Throws: `replyNotFound` if the parent is not in the conversation; `idempotencyKeyReused` if the key was used with another
    ///   body before; `conversationBusy` with a running reply if `whenBusy` is `refuse`; `rateLimited` if a limit of the meter is
    ///   reached.
    func openTurn(_ opening: NewTurn) async throws(RelayError) -> OpeningOutcome

    /// The tools that a conversation keeps, as a JSON array; empty if it keeps none.
    func tools(of conversation: ConversationKey) async throws(RelayError) -> [UInt8]

    /// The reply to the earlier request with a key; `nil` if there was none.
    ///
    /// - Throws: `idempotencyKeyReused` if the key was used with another body.
    func knownReply(in conversation: ConversationKey, key: IdempotencyKey) async throws(RelayError) -> ReplyID?

    /// The turn of a reply whose opening by this process is unconfirmed, with its history; `nil` if the turn is not open.
    func openedTurn(_ id: ReplyID, in conversation: ConversationKey) async throws(RelayError) -> OpenTurn?

    /// Removes the turn of a reply whose opening by this process is unconfirmed. If the removal would change which turn later turns
    /// follow, the method closes the turn as interrupted instead.
    ///
    /// - Returns: whether the turn existed.
    func withdraw(_ id: ReplyID, in conversation: ConversationKey) async throws(RelayError) -> Bool

    /// Commits a new turn for another answer to the prompt of a reply.
    ///
    /// - Parameters:
    ///   - onInterrupt: the treatment of the answer if its process dies; `nil` for that of the reply.
    ///   - reach: how far back the history is read; `nil` for all of it.
    /// - Throws: `replyNotFound`; `rateLimited` if a limit of the meter is reached.
    func openAlternative(
        to reply: ReplyRecord, as id: ReplyID, model: String?, onInterrupt: InterruptPolicy?, reach: HistoryReach?,
        meter: Meter?
    ) async throws(RelayError) -> OpenTurn

    /// Adopts replies that other processes have handed over, and replies of dead processes with the policy `regenerate`. A reply outlives
    /// two dead owners at most.
    ///
    /// - Parameter limit: the maximum number of adopted replies.
    /// - Parameter known: replies that this process still runs although another process has adopted them. This process must learn
    ///   that first; otherwise it would generate them twice.
    /// - Parameter onClaim: called for each turn as soon as this process owns it, before its history is read.
    func adoptAbandoned(
        limit: Int, except known: [ReplyID], onClaim: (Turn, ReplyID) -> Void
    ) async throws(RelayError) -> [OpenTurn]

    /// Hands a reply of this process over to the other processes. Any of them can adopt it at once, with `adoptAbandoned`.
    ///
    /// - Parameters:
    ///   - attempt: the current attempt of this process.
    ///   - isEmpty: whether the reply has no text yet. A reply with text is handed over only if it has the policy `regenerate`.
    /// - Returns: whether the reply is handed over. It is not if another process owns it, a client has stopped it, or it was handed
    ///   over too often.
    func handOver(_ turn: Turn, id: ReplyID, attempt: Int, isEmpty: Bool) async throws(RelayError) -> Bool

    /// Closes an earlier turn of a conversation as interrupted, with the text that is in the journal, if its process is dead.
    ///
    /// - Parameter isAbandonedHere: whether this process no longer runs the turn, if the turn is its own.
    /// - Parameter closesRegenerated: whether a reply with the policy `regenerate` is closed too.
    /// - Returns: whether the turn is closed now, by this or another process.
    func settleTurn(_ turn: Turn, isAbandonedHere: Bool, closesRegenerated: Bool) async throws(RelayError) -> Bool

    /// Restarts a reply of this process: the attempt ends, and its journal no longer counts.
    ///
    /// The call may be repeated after `storeUnavailable`; the attempt ends once.
    /// - Returns: the number of the next attempt.
    /// - Throws: `conversationReplaced` if the turn is gone, `interrupted` if another process has closed or adopted it.
    func restartTurn(_ turn: Turn, id: ReplyID, attempt: Int) async throws(RelayError) -> Int

    /// Stores the steps of a reply of this process so far, in place of those before. `steps` is `AnswerSteps.member`.
    ///
    /// The call may be repeated after `storeUnavailable`.
    /// - Throws: `conversationReplaced` if the turn is gone, `interrupted` if another process has closed or adopted it.
    func storeSteps(_ steps: [UInt8], of turn: Turn, id: ReplyID, attempt: Int) async throws(RelayError)

    /// The stored steps of a running reply.
    func steps(of turn: Turn, id: ReplyID) async throws(RelayError) -> StoredSteps

    /// Answers a call of a running reply that waits for an approval, unless it has an answer. The first answer counts, whichever process
    /// owns the reply.
    ///
    /// - Returns: the answers to the calls of the reply.
    /// - Throws: `conversationReplaced` if the reply is gone.
    func answer(
        _ answer: CallApprovals.Answer, to place: StepPlace, of turn: Turn, id: ReplyID
    ) async throws(RelayError) -> CallApprovals

    /// The answers to the calls of a reply that waited for an approval.
    ///
    /// - Throws: `conversationReplaced` if the reply is gone.
    func approvals(of turn: Turn, id: ReplyID) async throws(RelayError) -> CallApprovals

    /// Reads the current history of the turn of a reply.
    ///
    /// - Parameter reach: how far back the history is read; `nil` for all of it.
    /// - Throws: `conversationReplaced` if the reply is gone, even if another reply now has its `seq`; `overloaded` if the budget has no
    ///   memory for the history.
    func history(of turn: Turn, for id: ReplyID, reach: HistoryReach?) async throws(RelayError) -> TurnHistory

    /// Stores the end of the reply that closes a turn, behind its journal, and clears the journal.
    ///
    /// The fence is the attempt of `reply.journalled`. When the method returns, the store has the reply exactly as given. After
    /// `storeUnavailable` the outcome is unknown, and the close may still happen; the same call again finds out. The store keeps
    /// the reply once.
    /// - Throws: `conversationReplaced` if the turn is gone. `interrupted` if the stored reply differs or this process no longer
    ///   owns it: the store has the truth. This includes a journal with a gap: the store closes the reply with the text before the
    ///   gap. `replyNotStored` if the store refuses this reply permanently.
    func closeTurn(_ turn: Turn, with reply: ClosingReply) async throws(RelayError)

    // MARK: - Running replies

    /// Creates an empty batch for `journal`, of this or another store of the process.
    func makeJournalBatch() -> any JournalBatch

    /// Journals new content of this process's replies in one transaction, and fetches the signals of other processes to them.
    ///
    /// Without content it only fetches the signals. Of two pieces with the same start, the longer one counts.
    func journal(_ batches: [any JournalBatch]) async throws(RelayError) -> JournalOutcome

    /// Records that this process needs no sheet of the journal before a generation.
    func releaseSheets(before generation: Int32)

    /// Finds a reply by its id.
    func findReply(_ id: ReplyID) async throws(RelayError) -> ReplyRecord?

    /// Reads a page of a reply from a position on: its journal while it runs, its text afterwards; at most about 256 KiB.
    ///
    /// An empty page without an ending means that there is no more content yet. The page starts at another position than requested
    /// if the reply has another attempt, or has ended and is shorter.
    /// - Parameter steps: the version of the steps that the caller has, empty for none. The page of a running reply has the steps if they
    ///   have another version; without a parameter only that of a reply that has ended has them.
    /// - Throws: `replyNotFound` if the reply is gone.
    func readReply(
        _ reply: ReplyRecord, from position: ReplyPosition, steps: String?
    ) async throws(RelayError) -> ReplyPage

    /// Sends a signal to the process that generates a reply. No effect if the reply has ended.
    func signal(_ kind: ReplySignal.Kind, to reply: ReplyRecord) async throws(RelayError)

    // MARK: - Conversations

    /// Replaces a conversation by other messages, in one transaction.
    func replaceConversation(_ conversation: ConversationKey, with messages: [ModelMessage]) async throws(RelayError)

    /// Makes the next prompt follow a reply.
    ///
    /// - Throws: `replyNotFound`; `replyNotComplete` if histories do not include the reply's turn.
    func choose(_ reply: ReplyRecord) async throws(RelayError)

    /// Removes a conversation with all its data, in bounded batches.
    func deleteConversation(_ conversation: ConversationKey) async throws(RelayError)
}
