import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay

/// Changes of a reply's owner, and turns whose opening the database has not confirmed.
extension PostgresConversationStore {
    public func handOver(_ turn: Turn, id: ReplyID, attempt: Int, isEmpty: Bool) async throws(RelayError) -> Bool {
        try await run(
            LeaseStatements.handOver(turn, id: id, owner: lease.id, attempt: attempt, isEmpty: isEmpty)
        ).affectedRows == 1
    }

    public func openedTurn(_ id: ReplyID, in conversation: ConversationKey) async throws(RelayError) -> OpenTurn? {
        try await run(ConversationStatements.openedTurn(id, in: conversation, owner: lease.id)).first
    }

    public func withdraw(_ id: ReplyID, in conversation: ConversationKey) async throws(RelayError) -> Bool {
        defer { signals?.changed(conversation) }
        var transaction = Transaction()
        transaction.add(ConversationRevision.lock(conversation))
        let withdraw = transaction.add(ConversationStatements.withdraw(id, in: conversation, owner: lease.id))
        transaction.add(AttachmentStatements.release(in: conversation))
        transaction.add(UsageStatements.removeWithdrawn(id))
        let open = transaction.add(ConversationStatements.openedTurn(id, in: conversation, owner: lease.id))
        let results = try await run(transaction)
        guard let opened = results[open].first else {
            guard results[withdraw].affectedRows > 0 else { return false }
            var removal = Transaction()
            removal.add(ConversationRevision.lock(conversation))
            removal.add(ConversationRevision.removeUnopened(conversation))
            _ = try await run(removal)
            return true
        }
        return try await settleTurn(opened.turn, isAbandonedHere: true, closesRegenerated: true)
    }
}
