import ChatterdBasics
import ChatterdChat
import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay

/// The requests of replies.
extension ConversationArchive {
    /// The members of the request of a reply for the model server, and what a front door keeps with them.
    ///
    /// - Throws: `replyNotFound`, `storeUnavailable`.
    public func members(of reply: ReplyRecord) async throws(RelayError) -> [RawMember] {
        let options = try await readers.runForRelay(RequestStatements.options(of: reply.turn, id: reply.id))
        guard let options = options.first else { throw ChatService.replyNotFound }
        // The store has only JSON.
        return (try? [RawMember](decodingMembers: options)) ?? []
    }

    /// The prompts of a reply, in order, with their reservation.
    ///
    /// - Throws: `overloaded`, `storeUnavailable`.
    public func prompts(
        of reply: ReplyRecord
    ) async throws(RelayError) -> (rows: [ConversationRow], memory: MemoryReservation) {
        let entries = try await readers.runForRelay(RequestStatements.prompts(of: reply.turn, id: reply.id))
        let reservation = try reserve(for: entries)
        let messages = try await readers.runForRelay(
            ConversationRowStatements.messages(of: reply.turn.conversation, seqs: Self.seqs(of: entries)))
        return (messages.map(\.row), reservation)
    }

    /// The reply to the last request with a digest, while it runs and shortly after it is complete; `nil` for none.
    ///
    /// - Throws: `storeUnavailable`.
    public func reply(toRequest digest: HistoryDigest) async throws(RelayError) -> ReplyID? {
        try await readers.runForRelay(RequestStatements.repeated(digest)).first
    }

    /// The conversation that knows a request by its key, or the reply that ends the first of some histories that is stored.
    ///
    /// - Parameters:
    ///   - key: the idempotency key of the request; `nil` for a request without one.
    ///   - name: the name that a conversation would have that the request begins; `nil` for a random one.
    /// - Throws: `storeUnavailable`.
    public func find(
        _ histories: [HistoryDigest], of owner: Owner, key: IdempotencyKey?, name: String?
    ) async throws(RelayError) -> FoundHistory? {
        guard !histories.isEmpty || key != nil || name != nil else { return nil }
        return try await readers.runForRelay(RequestStatements.find(histories, of: owner, key: key, name: name)).first
    }
}
