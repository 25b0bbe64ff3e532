import ChatterdLanguageModels
import ChatterdPostgres
import ChatterdRelay

/// Changes of whole conversations.
extension PostgresConversationStore {
    /// The number of rows that one statement removes.
    private static let removalLimit = 1_000

    public func replaceConversation(appID: String, with messages: [ModelMessage]) async throws(RelayError) {
        guard !messages.isEmpty else { return try await deleteConversation(appID: appID) }
        try admit(messages, to: appID)
        defer { stored(in: appID) }
        defer {
            signals?.changed(appID)
            histories.remove(appID)
        }
        var attachments = Attachments()
        var transaction = Transaction()
        let replacement = transaction.add(
            ConversationStatements.replace(appID: appID, with: attachments.detach(from: messages)))
        transaction.add(
            AttachmentStatements.attach(attachments, to: appID, limit: attachmentsLimit, replacing: true))
        if try await run(transaction)[replacement].first == true {
            try await sweep(appID: appID, isBeingWritten: true)
        }
    }

    public func choose(_ reply: ReplyRecord) async throws(RelayError) {
        defer { signals?.changed(reply.turn.appID) }
        var transaction = Transaction()
        transaction.add(ConversationStatements.choose(reply.turn, id: reply.id))
        let found = transaction.add(ConversationStatements.isReplayed(reply.turn, id: reply.id))
        guard let isReplayed = try await run(transaction)[found].first else { throw Self.replyNotFound }
        guard isReplayed else { throw Self.notReplayed("the conversation cannot continue from it") }
    }

    public func deleteConversation(appID: String) async throws(RelayError) {
        defer { histories.remove(appID) }
        var isBeingWritten = false
        while true {
            let deletion = try await remove(
                ConversationStatements.deleteRows(appID: appID, limit: Self.removalLimit), from: appID
            ).first
            isBeingWritten = isBeingWritten || deletion?.hadRunningReplies == true
            guard deletion?.count == Self.removalLimit else { break }
        }
        try await sweep(appID: appID, isBeingWritten: isBeingWritten)
    }

    /// Removes the rows of a conversation as `deleteConversation` does, if its last addition is older than an age. It stops early
    /// once `isStopping` returns `true`.
    func expireConversation(
        appID: String, after age: Duration, isStopping: () -> Bool
    ) async throws(RelayError) {
        let expiry = RetentionStatements.expireRows(appID: appID, limit: Self.removalLimit, age: age)
        while try await remove(expiry, from: appID).affectedRows == Self.removalLimit, !isStopping() {}
        guard !isStopping() else { return }
        try await sweep(appID: appID)
    }

    /// Removes the journals, signals, keys and tickets of replies of a conversation that are gone.
    ///
    /// - Parameter isBeingWritten: whether a process may be writing the journal of such a reply. The sweep then waits once for all
    ///   transactions that write journals.
    func sweep(appID: String, isBeingWritten: Bool = false) async throws(RelayError) {
        let sweep = JournalStatements.sweep(appID: appID, limit: Self.removalLimit)
        try await repeatRemoval(sweep)
        if isBeingWritten {
            var transaction = Transaction()
            transaction.add(JournalStatements.sweepLock)
            transaction.add(sweep)
            _ = try await run(transaction)
            try await repeatRemoval(sweep)
        }
        // Signals to a reply stay for a while after its end.
        try await run(JournalStatements.deleteSignals(appID: appID))
        try await repeatRemoval(ConversationStatements.deleteKeys(appID: appID, limit: Self.removalLimit))
        // Separate transactions, because one of both could deadlock with a change of the queue.
        try await run(SlotStatements.removeGone(appID: appID))
        try await run(SlotStatements.removeRanks(appID: appID))
    }

    /// Repeats a query that removes up to `removalLimit` rows until no more are left, each time in a separate transaction.
    private func repeatRemoval(_ query: Query<Void>) async throws(RelayError) {
        while try await run(query).affectedRows == Self.removalLimit {}
    }

    /// Removes rows of a conversation, and the conversation itself with its last row.
    ///
    /// The separate lock comes first, so that the removal sees all earlier changes.
    private func remove<Record>(_ query: Query<Record>, from appID: String) async throws(RelayError) -> Rows<Record> {
        var transaction = Transaction()
        transaction.add(ConversationRevision.lock(appID))
        let removal = transaction.add(query)
        transaction.add(ConversationRevision.removeEmpty(appID))
        defer { signals?.changed(appID) }
        return try await run(transaction)[removal]
    }
}

extension Duration {
    /// In microseconds, rounded down.
    var microseconds: Int64 {
        components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000
    }
}
