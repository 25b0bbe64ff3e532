import ChatterdBasics
import ChatterdChat
import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay

/// Messages that clients add to the end of a conversation without asking a model.
extension ConversationArchive {
    /// Adds messages behind the last row of a conversation, outside of turns: all of them or none.
    ///
    /// - Returns: the rows, in order.
    /// - Throws: `conversationNotFound`; `conversationBusy` while a reply is running; `historyTooLarge`, `attachmentsFull`, `textFull`,
    ///   `storeUnavailable`.
    public func add(
        _ messages: [ModelMessage], to key: ConversationKey
    ) async throws(RelayError) -> [ConversationRow] {
        try quota?.admit(PostgresConversationStore.size(of: messages), of: key.owner)
        defer { quota?.stored(of: key.owner) }
        defer { signals?.changed(key) }
        var attachments = Attachments()
        let stored = attachments.detach(from: messages)
        var transaction = Transaction()
        transaction.add(ConversationRevision.lock(key))
        let added = transaction.add(ItemStatements.add(stored, to: key, limit: conversationLimit))
        if !attachments.isEmpty {
            transaction.add(AttachmentStatements.attach(attachments, to: key, limit: attachmentsLimit))
        }
        let header = transaction.add(ConversationRowStatements.header(of: key))
        let running = transaction.add(ConversationStatements.running(in: key))
        let results = try await pool.runForRelay(transaction, attempts: Self.attempts)
        guard !results[header].isEmpty else { throw Self.notFound }
        if let reply = results[running].first { throw Self.busy(with: reply) }
        let rows = results[added].sorted { $0.seq < $1.seq }
        guard rows.count == messages.count else { throw tooLarge }
        return zip(messages, rows).map { message, row in
            ConversationRow(
                seq: row.seq, kind: .message, time: 0, role: Array(message.role.utf8),
                content: Array(message.content.utf8), extras: Array((message.extras ?? "").utf8), id: row.id)
        }
    }

    private static func busy(with reply: ReplyID) -> RelayError {
        var error = RelayError(
            .conversationBusy,
            "A response of this conversation is being generated. Add the items when it has ended, or stop it first.")
        error.reply = reply
        return error
    }

    /// The last row of a conversation, if it is a message outside of turns.
    public struct LastMessage {
        public let row: ConversationRow
        /// The revision of the conversation with this row.
        let revision: Int64
        private let memory: MemoryReservation

        fileprivate init(row: ConversationRow, revision: Int64, memory: MemoryReservation) {
            self.row = row
            self.revision = revision
            self.memory = memory
        }
    }

    /// Reads the last row of a conversation; `nil` if that is not a message outside of turns.
    ///
    /// - Throws: `conversationNotFound`, `overloaded`, `storeUnavailable`.
    public func lastMessage(of key: ConversationKey) async throws(RelayError) -> LastMessage? {
        // The revision comes first: a change of the row after it is noticed.
        guard let state = try await readers.runForRelay(FeedStatements.state(of: key)).first else {
            throw Self.notFound
        }
        let entries = try await readers.runForRelay(
            ConversationRowStatements.entries(of: key, before: .max, limit: 1, bytes: Self.pageBytes))
        guard entries.last?.seq == state.last else { return nil }
        let memory = try reserve(for: entries)
        let messages = try await readers.runForRelay(
            ConversationRowStatements.messages(of: key, seqs: Self.seqs(of: entries)))
        guard let row = messages.first?.row, row.kind == .message else { return nil }
        return LastMessage(row: row, revision: state.head.revision, memory: memory)
    }

    /// Replaces the last message of a conversation by another one, or removes it.
    ///
    /// - Parameter rest: the message that remains; `nil` for none.
    /// - Returns: whether the conversation has not changed since the message was read.
    public func replace(
        _ last: LastMessage, of key: ConversationKey, by rest: ConversationRow?
    ) async throws(RelayError) -> Bool {
        guard let id = last.row.id else { return false }
        var transaction = Transaction()
        transaction.add(ConversationRevision.lock(key))
        let change: Query<Void>
        var attachments = Attachments()
        if let rest {
            let extras = attachments.detach(from: rest.extras.span)?.array ?? rest.extras
            change = ItemStatements.replace(
                last.row.seq, id: id, of: key, at: last.revision, content: rest.content, extras: extras)
        } else {
            change = ItemStatements.remove(last.row.seq, id: id, of: key, at: last.revision)
        }
        let step = transaction.add(change)
        if !attachments.isEmpty {
            // A row that is older than attachments has its images itself, and no use of them.
            transaction.add(AttachmentStatements.attach(attachments, to: key, limit: attachmentsLimit))
        }
        transaction.add(AttachmentStatements.release(in: key))
        defer { signals?.changed(key) }
        return try await pool.runForRelay(transaction, attempts: Self.attempts)[step].affectedRows == 1
    }
}
