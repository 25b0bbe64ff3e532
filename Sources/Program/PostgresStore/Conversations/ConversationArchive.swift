import ChatterdBasics
import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay
import ChatterdSockets

/// Whole conversations for their clients: pages, copies, exports and imports. Confined to its shard.
public final class ConversationArchive {
    /// The limit of the texts in a page, in bytes. A longer message is a page of its own.
    public static let pageBytes = 1 << 20
    /// The limit of the rows in a page of an export.
    private static let exportRows = 1_000
    /// The number of copies of a page: the result of the query, a row of it, the JSON, and the unsent output.
    private static let copies = 4
    /// The maximum number of attempts of an import that loses against another one.
    static let attempts = 3

    let pool: PostgresPool
    let readers: PostgresPool
    let memory: MemoryBudget
    /// The size limit of a conversation, in bytes.
    let conversationLimit: Int
    /// The size limit of all attachments of an app, in bytes; 0 for none.
    let attachmentsLimit: Int
    let quota: TextQuota?
    let signals: ConversationSignals?

    public init(
        pool: PostgresPool, readers: PostgresPool, conversationLimit: Int, attachmentsLimit: Int = 0,
        quota: TextQuota? = nil, memory: MemoryBudget, signals: ConversationSignals? = nil
    ) {
        self.quota = quota
        self.signals = signals
        self.pool = pool
        self.readers = readers
        self.conversationLimit = conversationLimit
        self.attachmentsLimit = attachmentsLimit
        self.memory = memory
    }

    // MARK: - Pages

    /// A page of a conversation as a JSON object, with its reservation.
    ///
    /// - Throws: `conversationNotFound`, `overloaded`, `storeUnavailable`; `conversationReplaced` if the conversation was removed meanwhile.
    public func page(
        of key: ConversationKey, _ window: ConversationPage.Window
    ) async throws(RelayError) -> (json: ByteBuffer, memory: MemoryReservation) {
        var transaction = Transaction()
        let headers = transaction.add(ConversationRowStatements.header(of: key))
        let found = transaction.add(Self.entries(of: key, window))
        let results = try await readers.runForRelay(transaction)
        guard let header = results[headers].first else { throw Self.notFound }
        let entries = results[found]
        let reservation = try reserve(for: entries)
        guard let first = entries.first?.seq, let last = entries.last?.seq else {
            let (before, after) = Self.surroundings(of: window, last: header.last)
            let json = ConversationPage.encode(
                header.conversation(key.name), EmptyCollection(), moreBefore: before, moreAfter: after)
            return (json, reservation)
        }
        var reading = Transaction()
        let messages = reading.add(ConversationRowStatements.messages(of: key, seqs: Self.seqs(of: entries)))
        let branch = reading.add(BranchStatements.ranges(of: key, from: first, to: last))
        let surroundings = reading.add(
            ConversationRowStatements.surroundings(of: key, first: first, last: last))
        let page = try await readers.runForRelay(reading)
        guard page[messages].count == entries.count, let more = page[surroundings].first else { throw Self.replaced }
        let active = Array(page[branch])
        let json = ConversationPage.encode(
            header.conversation(key.name), page[messages].lazy.map { $0.message(on: active) }, range: first...last,
            moreBefore: more.hasBefore, moreAfter: more.hasAfter)
        return (json, reservation)
    }

    private static func entries(
        of conversation: ConversationKey, _ window: ConversationPage.Window
    ) -> Query<ConversationRowStatements.Entry> {
        switch window.edge {
        case .end:
            ConversationRowStatements.entries(of: conversation, before: .max, limit: window.limit, bytes: pageBytes)
        case .before(let seq):
            ConversationRowStatements.entries(of: conversation, before: seq, limit: window.limit, bytes: pageBytes)
        case .after(let seq):
            ConversationRowStatements.entries(of: conversation, after: seq, limit: window.limit, bytes: pageBytes)
        }
    }

    /// Whether messages are on the other side of an empty page.
    private static func surroundings(
        of window: ConversationPage.Window, last: Int64
    ) -> (before: Bool, after: Bool) {
        switch window.edge {
        case .end: (false, false)
        case .before: (false, last > 0)
        case .after: (last > 0, false)
        }
    }

    func reserve(
        for entries: Rows<ConversationRowStatements.Entry>
    ) throws(RelayError) -> MemoryReservation {
        let size = entries.reduce(0) { $0 + $1.size }
        guard let reservation = memory.reserve(Self.copies * size, for: .result) else {
            throw RelayError(overloading: memory)
        }
        return reservation
    }

    static func seqs(of entries: Rows<ConversationRowStatements.Entry>) -> ParameterArray {
        var seqs = ParameterArray()
        for entry in entries {
            seqs.append(entry.seq)
        }
        return seqs
    }

    // MARK: - Copies

    /// Copies the turns of a branch that a history has into a conversation that does not exist.
    ///
    /// - Parameter reply: the last reply of the copy; `nil` for the branch of the next prompt.
    /// - Throws: `conversationNotFound`, `conversationExists`, `replyNotFound`, `replyNotComplete`, `historyTooLarge`, `textFull`,
    ///   `storeUnavailable`.
    public func fork(
        _ source: ConversationKey, at reply: ReplyID?, to target: ConversationKey, title: String?
    ) async throws(RelayError) {
        try quota?.admit(0, of: target.owner)
        var transaction = Transaction()
        transaction.add(AttachmentStatements.hold(of: source))
        let fork = transaction.add(
            BranchStatements.fork(source, at: reply, to: target, title: title, limit: conversationLimit))
        transaction.add(AttachmentStatements.share(from: source, with: target))
        let end = transaction.add(ConversationStatements.total(of: target))
        let results = try await pool.runForRelay(transaction, attempts: Self.attempts)
        let outcome = results[fork].first
        guard let outcome, outcome.isDone == false else {
            quota?.stored(results[end].first ?? 0, of: target.owner)
            return
        }
        guard outcome.hasSource else { throw Self.notFound }
        if reply != nil {
            guard let isReplayed = outcome.isReplayed else {
                throw RelayError(.replyNotFound, "There is no such reply in this conversation.")
            }
            guard isReplayed else { throw PostgresConversationStore.notReplayed("a copy cannot end with it") }
        }
        guard !outcome.hasTarget else { throw Self.exists }
        throw tooLarge
    }

    // MARK: - Exports

    /// Begins to export a conversation as it is now.
    ///
    /// - Throws: `conversationNotFound`, `storeUnavailable`.
    public func export(_ key: ConversationKey) async throws(RelayError) -> ConversationExport {
        var transaction = Transaction()
        let headers = transaction.add(ConversationRowStatements.header(of: key))
        // A reply that ends between the two queries is exported with its end.
        let running = transaction.add(ConversationRowStatements.running(in: key))
        let results = try await readers.runForRelay(transaction)
        guard let header = results[headers].first else { throw Self.notFound }
        return ConversationExport(
            header: header.conversation(key.name), conversation: key, last: header.last, lastID: header.lastID,
            running: Set(results[running].lazy.filter { $0 <= header.last }))
    }

    /// Reads the next rows of an export, with the reservation for their lines and the output.
    ///
    /// - Throws: `overloaded`, `storeUnavailable`; `conversationReplaced` if the conversation was replaced or deleted meanwhile.
    public func nextPage(
        of export: inout ConversationExport
    ) async throws(RelayError) -> (rows: ConversationExportPage, memory: MemoryReservation) {
        let entries = try await readers.runForRelay(
            ConversationRowStatements.entries(
                of: export.conversation, after: export.position, upTo: export.last, limit: Self.exportRows,
                bytes: Self.pageBytes))
        let reservation = try reserve(for: entries)
        var transaction = Transaction()
        let found = transaction.add(
            ConversationRowStatements.rows(of: export.conversation, seqs: Self.seqs(of: entries)))
        // After the rows: a conversation that has its last row then had all rows before.
        let anchor = transaction.add(
            ConversationRowStatements.exists(export.last, export.lastID, in: export.conversation))
        let results = try await readers.runForRelay(transaction)
        let rows = results[found]
        guard let last = rows.last?.seq, rows.count == entries.count, results[anchor].first == true else {
            throw Self.replaced
        }
        let page = ConversationExportPage(rows: rows, above: export.position, running: export.running)
        export.position = last
        return (page, reservation)
    }

    // MARK: - Imports

    /// The result of an import.
    public struct Imported: Sendable {
        /// The number of rows of the conversation.
        public let rows: Int
        /// Whether the end of the file was there.
        public let isComplete: Bool
        /// Whether the conversation is new.
        public let isNew: Bool
    }

    /// Stores an exported conversation, or the next piece of one: all of it or none. The replies get new ids.
    ///
    /// - Parameters:
    ///   - file: the lines.
    ///   - isPiece: whether the file may be a piece. A piece without a header continues behind the stored rows.
    /// - Throws: `invalidRequest` with the number of the line, `conversationExists`, `conversationNotFound` for a later piece,
    ///   `historyTooLarge`, `attachmentsFull`, `textFull`, `storeUnavailable`.
    public func importFile(
        _ file: [UInt8], isPiece: Bool, into key: ConversationKey
    ) async throws(RelayError) -> Imported {
        let end = try await pool.runForRelay(ImportStatements.end(of: key)).first
        let continues = isPiece && !ConversationFileReader.hasHeader(file.span)
        guard !continues || end?.exists == true else { throw Self.notFound }
        let start = ConversationFileReader.Start(last: end?.last ?? 0, rows: end?.rows ?? 0)
        // A faulty file is reported before a conflict, which another name resolves.
        let size = continues ? end?.size ?? 0 : 0
        let (reader, columns) = try await LongWork.run(on: file.count) { () throws(RelayError) in
            var reader = ConversationFileReader(
                isPiece: isPiece, after: continues ? start : ConversationFileReader.Start())
            var columns = ConversationColumns(after: size)
            try reader.read(file.span) { columns.append($0) }
            return (reader, columns)
        }
        guard continues || start.last == 0 else { throw Self.exists }
        guard columns.size <= conversationLimit else { throw tooLarge }
        try quota?.admit(columns.size - size, of: key.owner)
        defer { quota?.stored(of: key.owner) }
        defer { signals?.changed(key) }
        var transaction = Transaction()
        let stored = transaction.add(
            ImportStatements.add(
                columns, reader.header, to: key, after: start.last, count: reader.rows, from: end))
        if !columns.attachments.isEmpty {
            transaction.add(AttachmentStatements.attach(columns.attachments, to: key, limit: attachmentsLimit))
        }
        guard try await pool.runForRelay(transaction, attempts: Self.attempts)[stored].count == 1 else {
            throw continues
                ? RelayError(.conversationReplaced, "The conversation was changed while this piece was being stored.")
                : Self.exists
        }
        return Imported(rows: reader.rows, isComplete: reader.isComplete, isNew: reader.header != nil)
    }

    // MARK: - Errors

    static let notFound = RelayError(.conversationNotFound, "There is no such conversation.")
    private static let exists = RelayError(.conversationExists, "There is a conversation of this name already.")
    private static let replaced = RelayError(
        .conversationReplaced, "The conversation was replaced or deleted while it was being read.")

    var tooLarge: RelayError {
        RelayError(
            .historyTooLarge,
            "The conversation would exceed its limit (CHATTERD_CONVERSATION_LIMIT, \(conversationLimit) bytes).")
    }
}

extension ConversationRowStatements.Message {
    /// The message, with its place on the branch of the next prompt.
    fileprivate func message(on branch: [ClosedRange<Int64>]) -> ConversationPage.Message {
        ConversationPage.Message(
            row: row, follows: follows, parent: parent, isActive: branch.contains { $0.contains(row.seq) })
    }
}

/// An export of a conversation as it was when the export began.
///
/// Rows are only appended, and only a running reply changes. So the rows up to the last one, with the replies closed that were running, are
/// the conversation at that moment, however long the export takes. The id of the last row shows whether the conversation is still the same:
/// every removal takes that row first, and its id does not come again.
public struct ConversationExport: Sendable {
    /// The data of the conversation.
    public let header: ConversationHeader
    /// The conversation.
    let conversation: ConversationKey
    /// The last row; 0 without rows.
    let last: Int64
    let lastID: ReplyID
    /// The replies that were running.
    let running: Set<Int64>
    /// The last row that was read.
    var position: Int64 = 0

    /// Whether all rows were read.
    public var isAtEnd: Bool { position >= last }
}
