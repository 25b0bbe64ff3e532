import ChatterdPostgres
import ChatterdRelay

extension ConversationArchive {
    /// Removes a reply that has ended, with its prompts, if nothing follows it and its prompts have no other reply.
    ///
    /// - Throws: `conversationBusy` while the reply runs; `replyNotComplete` if something follows it; `replyNotFound`,
    ///   `storeUnavailable`.
    public func remove(_ reply: ReplyRecord) async throws(RelayError) {
        let conversation = reply.turn.conversation
        var transaction = Transaction()
        // The separate lock comes first, so that the removal sees all earlier changes.
        transaction.add(ConversationRevision.lock(conversation))
        let removal = transaction.add(RemovalStatements.remove(reply.turn, id: reply.id))
        transaction.add(AttachmentStatements.release(in: conversation))
        let found = transaction.add(RemovalStatements.isRunning(reply.turn, id: reply.id))
        defer { signals?.changed(conversation) }
        let results = try await pool.runForRelay(transaction, attempts: Self.attempts)
        guard results[removal].affectedRows == 0 else { return }
        guard let isRunning = results[found].first else { throw ChatService.replyNotFound }
        guard !isRunning else {
            throw RelayError(.conversationBusy, "The response is still being generated. Stop it first.")
        }
        throw RelayError(
            .replyNotComplete,
            "Other messages follow this response, so it cannot be removed. Remove those first, or the conversation.")
    }
}
