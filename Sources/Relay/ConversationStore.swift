import LanguageModels

/// Where the conversations are kept. Confined to its shard.
///
/// Every method throws `storeUnavailable` when the store is away, too slow or read-only; then nothing, or all, was done. The
/// error's `isOutcomeUnknown` says whether it may have been all.
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

    /// The turn of a reply whose opening by this process was not confirmed, with what it has to go on; nil when it is not open.
    func openedTurn(_ id: ReplyID, appID: String) async throws(RelayError) -> ReopenedTurn?

    /// Removes the turn of a reply whose opening by this process was not confirmed. If other turns follow that would follow another
    /// one then, it is closed as interrupted.
    ///
    /// - Returns: whether there was such a turn.
    func withdraw(_ id: ReplyID, appID: String) async throws(RelayError) -> Bool

    /// Commits the place of another answer to the prompt of a reply.
    ///
    /// - Throws: `replyNotFound`.
    func openAlternative(
        to reply: ReplyRecord, as id: ReplyID, model: String?, onInterrupt: InterruptPolicy
    ) async throws(RelayError) -> ReopenedTurn

    /// Takes over replies that processes left to the others, and those of dead processes that are to be made again, at most `limit`, each at most three times.
    ///
    /// - Parameter known: replies that this process still makes, although another one has taken them over since: it must learn
    ///   that first, or it would make them twice.
    /// - Parameter onClaim: called for each turn as soon as it is this process's own, before what it has to go on is read.
    func adoptAbandoned(
        limit: Int, except known: [ReplyID], onClaim: (Turn, ReplyID) -> Void
    ) async throws(RelayError) -> [ReopenedTurn]

    /// Leaves a reply of this process to the others, any of which makes it at once: `adoptAbandoned` gives it to them.
    ///
    /// - Parameters:
    ///   - attempt: the number of the attempt that this process is at.
    ///   - isEmpty: whether the reply has no text yet. Otherwise only one that is to be made again is left.
    /// - Returns: whether it is left. It is not when another process has it, when a client has stopped it, or when it was left
    ///   too often.
    func handOver(_ turn: Turn, id: ReplyID, attempt: Int, isEmpty: Bool) async throws(RelayError) -> Bool

    /// Closes an earlier turn of a conversation as interrupted, with the text that is in the journal, if its process is dead.
    ///
    /// - Parameter isAbandoned: whether this process, if the turn is its own, knows nothing of it any more.
    /// - Parameter isUnwanted: whether a reply that is to be made again is closed all the same.
    /// - Returns: whether the turn is closed now, by whomever.
    func settleTurn(_ turn: Turn, isAbandoned: Bool, isUnwanted: Bool) async throws(RelayError) -> Bool

    /// Begins a reply of this process anew: its attempt ends, and what is journalled of it counts no more.
    ///
    /// May be called again after `storeUnavailable`: the attempt ends once.
    /// - Returns: the number of the next attempt.
    /// - Throws: `conversationReplaced` when the turn is gone, `interrupted` when somebody else has closed it or taken it over.
    func restartTurn(_ turn: Turn, id: ReplyID, attempt: Int) async throws(RelayError) -> Int

    /// What the turn of a reply has to go on now.
    ///
    /// - Throws: `conversationReplaced` when the reply is gone, be it that another one has its place.
    func history(of turn: Turn, for id: ReplyID) async throws(RelayError) -> TurnHistory

    /// Stores the end of the reply that closes a turn, behind what is in the journal, and clears the journal of it.
    ///
    /// It counts for the attempt of `reply.journalled` alone. When it returns, the reply is stored as it is given here. After
    /// `storeUnavailable` it may be stored or not, and may yet be; the same call again finds out: the reply is stored once.
    /// - Throws: `conversationReplaced` when the turn is gone; `interrupted` when the reply is stored otherwise, or is not this
    ///   process's to store (any more): the store has the truth. A journal with a gap is one such case: the reply is closed then
    ///   with what stands before the gap. `replyNotStored` when the store refuses this reply, for good.
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
