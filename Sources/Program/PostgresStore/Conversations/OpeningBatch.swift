import ChatterdChat
import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay

/// The queries of the transaction that opens a turn.
struct OpeningBatch {
    private(set) var transaction = Transaction()
    /// Opens the turn.
    let open: Transaction.Step<ConversationStatements.InsertedTurn>
    /// The running reply that the turn must not follow; `nil` if it may follow any.
    let running: Transaction.Step<ReplyID>?
    /// Charges the request to its meter, if it has one.
    let charge: Transaction.Step<Quota>?
    /// The history of the turn.
    let history: HistoryBatch
    /// The reply of the idempotency key, if the request has one.
    let keyed: Transaction.Step<ConversationStatements.KeyedReply>?

    /// Creates the queries.
    ///
    /// Not inlined, because all its locals would be in the frame of the async caller (docs/decisions/0048-frames-of-tasks.md).
    ///
    /// - Parameters:
    ///   - query: opens the turn.
    ///   - attachments: the images of the prompts, with the limit of their app.
    ///   - bytes: the size of the prompts' text.
    @inline(never)
    init(
        _ opening: NewTurn, by query: Query<ConversationStatements.InsertedTurn>,
        with attachments: (Attachments, limit: Int), bytes: Int, in cache: HistoryCache
    ) {
        open = transaction.add(query)
        if !attachments.0.isEmpty {
            transaction.add(
                AttachmentStatements.attach(attachments.0, to: opening.conversation, limit: attachments.limit))
        }
        if let tools = opening.newTools {
            transaction.add(ConversationStatements.setTools(tools, of: opening.conversation, by: opening.id))
        }
        if opening.whenBusy == .stop || opening.whenBusy == .replace {
            transaction.add(ConversationStatements.stopRunning(in: opening.conversation, except: opening.id))
        }
        running =
            opening.whenBusy == .refuse
            ? transaction.add(ConversationStatements.running(in: opening.conversation)) : nil
        // Before the history, which a refused request does not need.
        if let meter = opening.meter {
            charge = transaction.add(
                UsageStatements.charge(meter, for: opening.id, in: opening.conversation, bytes: bytes))
        } else {
            charge = nil
        }
        history = HistoryBatch(of: opening.conversation, in: cache, for: opening.reach, &transaction)
        if let key = opening.key {
            keyed = transaction.add(ConversationStatements.keyedReply(in: opening.conversation, key: key))
        } else {
            keyed = nil
        }
    }
}
