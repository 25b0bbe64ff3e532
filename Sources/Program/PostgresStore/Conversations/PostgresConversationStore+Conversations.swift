import ChatterdChat
import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay

/// Changes of whole conversations.
extension PostgresConversationStore {
    /// The number of rows that one statement removes.
    private static let removalLimit = 1_000

    public func replaceConversation(
        _ conversation: ConversationKey, with messages: [ModelMessage]
    ) async throws(RelayError) {
        guard !messages.isEmpty else { return try await deleteConversation(conversation) }
        try admit(messages, to: conversation)
        defer { stored(in: conversation) }
        defer {
            signals?.changed(conversation)
            histories.remove(conversation)
        }
        var attachments = Attachments()
        var transaction = Transaction()
        let replacement = transaction.add(
            ConversationStatements.replace(conversation, with: attachments.detach(from: messages)))
        transaction.add(
            AttachmentStatements.attach(attachments, to: conversation, limit: attachmentsLimit, replacing: true))
        if try await run(transaction)[replacement].first == true {
            try await sweep(conversation, isBeingWritten: true)
        }
    }

    public func choose(_ reply: ReplyRecord) async throws(RelayError) {
        defer { signals?.changed(reply.turn.conversation) }
        var transaction = Transaction()
        transaction.add(ConversationStatements.choose(reply.turn, id: reply.id))
        let found = transaction.add(ConversationStatements.isReplayed(reply.turn, id: reply.id))
        guard let isReplayed = try await run(transaction)[found].first else { throw Self.replyNotFound }
        guard isReplayed else { throw Self.notReplayed("the conversation cannot continue from it") }
    }

    public func deleteConversation(_ conversation: ConversationKey) async throws(RelayError) {
        defer { histories.remove(conversation) }
        var isBeingWritten = false
        while true {
            let deletion = try await remove(
                ConversationStatements.deleteRows(of: conversation, limit: Self.removalLimit), from: conversation
            ).first
            isBeingWritten = isBeingWritten || deletion?.hadRunningReplies == true
            guard deletion?.count == Self.removalLimit else { break }
        }
        try await sweep(conversation, isBeingWritten: isBeingWritten)
    }

    /// Removes the rows of a conversation as `deleteConversation` does, if its last addition is older than an age. It stops early
    /// once `isStopping` returns `true`.
    func expireConversation(
        _ conversation: ConversationKey, after age: Duration, isStopping: () -> Bool
    ) async throws(RelayError) {
        let expiry = RetentionStatements.expireRows(of: conversation, limit: Self.removalLimit, age: age)
        while try await remove(expiry, from: conversation).affectedRows == Self.removalLimit, !isStopping() {}
        guard !isStopping() else { return }
        try await sweep(conversation)
    }

    /// Removes the journals, signals, keys and tickets of replies of a conversation that are gone.
    ///
    /// - Parameter isBeingWritten: whether a process may be writing the journal of such a reply. The sweep then waits once for all
    ///   transactions that write journals.
    func sweep(_ conversation: ConversationKey, isBeingWritten: Bool = false) async throws(RelayError) {
        let sweep = JournalStatements.sweep(conversation, limit: Self.removalLimit)
        try await repeatRemoval(sweep)
        if isBeingWritten {
            var transaction = Transaction()
            transaction.add(JournalStatements.sweepLock)
            transaction.add(sweep)
            _ = try await run(transaction)
            try await repeatRemoval(sweep)
        }
        // Signals to a reply stay for a while after its end.
        try await run(JournalStatements.deleteSignals(of: conversation))
        try await repeatRemoval(ConversationStatements.deleteKeys(of: conversation, limit: Self.removalLimit))
        // Separate transactions, because one of both could deadlock with a change of the queue.
        try await run(SlotStatements.removeGone(of: conversation))
        try await run(SlotStatements.removeRanks(of: conversation))
    }

    /// Repeats a query that removes up to `removalLimit` rows until no more are left, each time in a separate transaction.
    private func repeatRemoval(_ query: Query<Void>) async throws(RelayError) {
        while try await run(query).affectedRows == Self.removalLimit {}
    }

    /// Removes rows of a conversation, and the conversation itself with its last row.
    ///
    /// The separate lock comes first, so that the removal sees all earlier changes.
    private func remove<Record>(
        _ query: Query<Record>, from conversation: ConversationKey
    ) async throws(RelayError) -> Rows<Record> {
        var transaction = Transaction()
        transaction.add(ConversationRevision.lock(conversation))
        let removal = transaction.add(query)
        transaction.add(ConversationRevision.removeEmpty(conversation))
        defer { signals?.changed(conversation) }
        return try await run(transaction)[removal]
    }
}

extension Duration {
    /// In microseconds, rounded down.
    var microseconds: Int64 {
        components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000
    }
}
