import ChatterdLanguageModels
import ChatterdPostgres
import ChatterdRelay

/// Conversations as a whole.
extension PostgresConversationStore {
    /// The rows that one batch of a removal takes.
    private static let removalLimit = 1_000

    public func replaceConversation(appID: String, with messages: [ModelMessage]) async throws(RelayError) {
        let results = try await run([
            Query(
                ConversationStatements.replace, .text(appID), .textArray(messages.map(\.role)),
                .textArray(messages.map(\.content)), .textArray(messages.map { $0.extras ?? "" }))
        ])
        if results[0].bool(0, 0) == true {
            try await sweep(appID: appID, isBeingWritten: true)
        }
    }

    public func choose(_ reply: ReplyRecord) async throws(RelayError) {
        let appID = Parameter.text(reply.turn.appID)
        let results = try await run([
            Query(ConversationStatements.choose, appID, .int8(reply.turn.number), reply.id.parameter),
            Query(
                ConversationStatements.replyState, appID, .int8(reply.turn.number), reply.id.parameter,
                lease.parameter),
        ])
        guard results[1].rowCount == 1 else { throw Self.replyNotFound }
        guard results[1].string(0, 0) == ReplyState.complete.rawValue else {
            throw RelayError(.replyNotComplete, "This reply is not complete: the conversation cannot go on from it.")
        }
    }

    public func deleteConversation(appID: String) async throws(RelayError) {
        var isBeingWritten = false
        while true {
            let gone = try await run([
                Query(ConversationStatements.deleteRows, .text(appID), .int8(Self.removalLimit))
            ])[0]
            isBeingWritten = isBeingWritten || gone.bool(0, 1) == true
            guard gone.int(0, 0) == Self.removalLimit else { break }
        }
        try await sweep(appID: appID, isBeingWritten: isBeingWritten)
    }

    /// Removes the rows of a conversation as `deleteConversation` does, if nothing was added to it for so long; not all of them
    /// when it is not to go on.
    func expireConversation(
        appID: String, after age: Duration, goesOn: () -> Bool
    ) async throws(RelayError) {
        try await repeatBatch(
            Query(
                RetentionStatements.expireRows, .text(appID), .int8(Self.removalLimit), .int8(age.microseconds)),
            goesOn: goesOn)
        guard goesOn() else { return }
        try await sweep(appID: appID)
    }

    /// Removes what belongs to replies of a conversation that are gone.
    ///
    /// - Parameter isBeingWritten: whether a process may be writing the journal of one of them just now, and does not know yet.
    ///   It is waited for, once; all processes stop at that.
    func sweep(appID: String, isBeingWritten: Bool = false) async throws(RelayError) {
        let sweeping = Query(JournalStatements.sweep, .text(appID), .int8(Self.removalLimit))
        try await repeatBatch(sweeping)
        if isBeingWritten {
            _ = try await run([Query(JournalStatements.sweepLock), sweeping])
            try await repeatBatch(sweeping)
        }
        // What was told of a reply lies on for a while after its end.
        _ = try await run([Query(JournalStatements.deleteSignals, .text(appID))])
        try await repeatBatch(Query(ConversationStatements.deleteKeys, .text(appID), .int8(Self.removalLimit)))
        // One after the other: together they could stand in the way of who changes the queue.
        _ = try await run([Query(SlotStatements.removeGone, .text(appID))])
        _ = try await run([Query(SlotStatements.removeRanks, .text(appID))])
    }

    /// Runs a query that removes so many rows until there are no more; each time in a transaction of its own.
    private func repeatBatch(_ query: Query, goesOn: () -> Bool = { true }) async throws(RelayError) {
        while try await run([query])[0].affectedRows == Self.removalLimit, goesOn() {}
    }
}

extension Duration {
    /// In microseconds, rounded down.
    var microseconds: Int64 {
        components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000
    }
}
