import ChatterdBasics
import ChatterdChat
import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay

/// The list of the conversations of each owner, in the table `chatterd_conversations`. Confined to its shard.
public final class ConversationCatalogue {
    /// The maximum number of attempts of a creation that loses against prompts of an earlier version.
    private static let attempts = 100
    /// The number of messages and of bytes after which a search ends for now.
    private static let searchRows = 10_000
    private static let searchBytes = 8 << 20
    /// The number of conversations that one request of a search examines, first and then if these were not enough.
    private static let searchedFirst = 40
    private static let searchedConversations = 360
    /// The number of conversations that one batch of a search examines; the number of messages and of bytes of each.
    private static let searchGroup = 8
    private static let pieceRows = 500
    private static let pieceBytes = 1 << 20

    private let pool: PostgresPool
    private let readers: PostgresPool
    private let signals: ConversationSignals?
    /// The size limit of all attachments of an app, in bytes; 0 for none.
    private let attachmentsLimit: Int
    private let quota: TextQuota?

    /// Creates the list of a shard.
    ///
    /// - Parameters:
    ///   - readers: the connections for large results.
    ///   - attachmentsLimit: the size limit of all attachments of an app, in bytes; 0 for none.
    ///   - quota: the limits of the text of apps and of people; `nil` for none.
    ///   - signals: wakes the feeds of the process.
    public init(
        pool: PostgresPool, readers: PostgresPool, attachmentsLimit: Int = 0, quota: TextQuota? = nil,
        signals: ConversationSignals? = nil
    ) {
        self.quota = quota
        self.attachmentsLimit = attachmentsLimit
        self.pool = pool
        self.readers = readers
        self.signals = signals
    }

    /// Lists the next conversations of an owner, newest change first. While no conversation changes, successive pages have each of them
    /// once; one that changes moves to the front.
    public func list(_ query: CatalogueQuery) async throws(RelayError) -> CataloguePage {
        var query = query
        let limit = query.limit
        query.limit += 1
        let found = Array(try await readers.runForRelay(CatalogueStatements.list(query)))
        let entries = Array(found.prefix(limit))
        return CataloguePage(
            entries: entries, next: found.count > limit ? entries.last.map(CataloguePosition.init(behind:)) : nil)
    }

    /// Searches the titles and messages of an owner's conversations, newest change first.
    public func search(_ query: CatalogueQuery, for text: String) async throws(RelayError) -> SearchPage {
        var search = RunningSearch(query)
        // Two lists at most, because each reads the periods at its ends and describes the conversations that it has.
        for listed in [Self.searchedFirst, Self.searchedConversations] {
            var left = Array(
                try await readers.runForRelay(
                    CatalogueStatements.list(search.query(limit: listed), includesPosition: search.isInside)))[...]
            let isLast = left.count < listed
            while let group = Self.nextGroup(of: left), !isFull(search, query) {
                left = left.dropFirst(try await searchGroup(&search, group, for: text, limit: query.limit))
            }
            if left.isEmpty, isLast {
                search.complete()
            }
            guard left.isEmpty, !isLast, !isFull(search, query) else { break }
        }
        return SearchPage(hits: search.finishedHits, next: search.isComplete ? nil : search.position)
    }

    /// Whether a request has found or examined as much as it may.
    private func isFull(_ search: RunningSearch, _ query: CatalogueQuery) -> Bool {
        search.hits.count >= query.limit || search.rows >= Self.searchRows || search.bytes >= Self.searchBytes
    }

    private static func nextGroup(of left: ArraySlice<CatalogueEntry>) -> [CatalogueEntry]? {
        left.isEmpty ? nil : Array(left.prefix(searchGroup))
    }

    /// Searches conversations, up to the first one that is longer than its piece.
    ///
    /// - Returns: the number of conversations that are finished.
    private func searchGroup(
        _ search: inout RunningSearch, _ group: [CatalogueEntry], for text: String, limit: Int
    ) async throws(RelayError) -> Int {
        var transaction = Transaction()
        let steps = group.map { entry in
            transaction.add(
                CatalogueStatements.search(
                    entry.key, for: text, after: search.start(in: entry), rows: Self.pieceRows,
                    bytes: Self.pieceBytes))
        }
        let results = try await readers.runForRelay(transaction)
        for (index, (entry, step)) in zip(group, steps).enumerated() {
            let found = Array(results[step])
            let isWhole = found.first.map { $0.rows < Self.pieceRows && $0.bytes < Self.pieceBytes } ?? true
            search.add(found, of: entry, isWhole: isWhole)
            guard !search.isInside else { return index }
            guard search.hits.count < limit else { return index + 1 }
        }
        return group.count
    }

    /// Creates a conversation.
    ///
    /// - Parameter metadata: the metadata for the client, as JSON without braces; empty without any.
    /// - Throws: `conversationExists`, `attachmentsFull`, `textFull`.
    public func create(
        _ key: ConversationKey, title: String?, messages: [ModelMessage], metadata: String = ""
    ) async throws(RelayError) -> CatalogueEntry {
        try quota?.admit(PostgresConversationStore.size(of: messages), of: key.owner)
        defer { quota?.stored(of: key.owner) }
        var transaction = Transaction()
        var attachments = Attachments()
        let created = transaction.add(
            CatalogueStatements.create(
                key, title: title, messages: attachments.detach(from: messages), metadata: metadata))
        if !attachments.isEmpty {
            transaction.add(AttachmentStatements.attach(attachments, to: key, limit: attachmentsLimit))
        }
        let entry = transaction.add(CatalogueStatements.entry(of: key))
        let results = try await pool.runForRelay(transaction, attempts: Self.attempts)
        guard results[created].affectedRows == 1, let entry = results[entry].first else {
            throw RelayError(.conversationExists, "There is a conversation of this name already. Choose another name.")
        }
        return entry
    }

    /// Changes a conversation in part.
    ///
    /// - Parameter metadata: the metadata for the client, as JSON without braces; `nil` for no change.
    /// - Throws: `conversationNotFound`.
    public func change(
        _ key: ConversationKey, _ change: ConversationChange, metadata: String? = nil
    ) async throws(RelayError) -> CatalogueEntry {
        var transaction = Transaction()
        transaction.add(CatalogueStatements.change(key, change))
        if let metadata { transaction.add(CatalogueStatements.setMetadata(metadata, of: key)) }
        return try await apply(transaction, to: key)
    }

    /// Gives a conversation the title that was made for it, unless it has a title by now.
    ///
    /// - Throws: `conversationNotFound`.
    public func setTitle(_ title: String, of key: ConversationKey) async throws(RelayError) -> CatalogueEntry {
        var transaction = Transaction()
        transaction.add(CatalogueStatements.titled(key, title))
        return try await apply(transaction, to: key)
    }

    private func apply(_ changes: Transaction, to key: ConversationKey) async throws(RelayError) -> CatalogueEntry {
        var transaction = changes
        transaction.add(CatalogueStatements.trimLog(of: key))
        let entry = transaction.add(CatalogueStatements.entry(of: key))
        defer { signals?.changed(key) }
        guard let entry = try await pool.runForRelay(transaction)[entry].first else { throw Self.notFound }
        return entry
    }

    /// A conversation of the list.
    ///
    /// - Throws: `conversationNotFound`.
    public func entry(of key: ConversationKey) async throws(RelayError) -> CatalogueEntry {
        guard let entry = try await readers.runForRelay(CatalogueStatements.entry(of: key)).first else {
            throw Self.notFound
        }
        return entry
    }

    /// A conversation of the list with its metadata for the client, as JSON without braces; empty without any.
    ///
    /// - Throws: `conversationNotFound`.
    public func entryWithMetadata(
        of key: ConversationKey
    ) async throws(RelayError) -> (entry: CatalogueEntry, metadata: String) {
        var transaction = Transaction()
        let entries = transaction.add(CatalogueStatements.entry(of: key))
        let metadata = transaction.add(CatalogueStatements.metadata(of: key))
        let results = try await readers.runForRelay(transaction)
        guard let entry = results[entries].first else { throw Self.notFound }
        return (entry, results[metadata].first ?? "")
    }

    /// The beginning of a conversation, with the roles of its messages, and the model of its newest reply.
    public func beginning(of key: ConversationKey) async throws(RelayError) -> (text: String, model: String?) {
        let messages = try await readers.runForRelay(CatalogueStatements.beginning(of: key))
        return (messages.map { "\($0.role): \($0.text)\n" }.joined(), messages.first?.model)
    }

    /// The keys of the next conversations of an owner behind a key, in the order of their texts.
    public func keys(
        of query: CatalogueQuery, after key: ConversationKey?
    ) async throws(RelayError) -> [ConversationKey] {
        Array(try await readers.runForRelay(CatalogueStatements.keys(of: query, after: key)))
    }

    /// The error for a conversation that does not exist.
    public static let notFound = RelayError(.conversationNotFound, "There is no such conversation.")
}

/// A part of the list of an owner's conversations.
public struct CataloguePage: Sendable {
    public let entries: [CatalogueEntry]
    /// The position at which the list continues; `nil` at its end.
    public let next: CataloguePosition?
}

/// A part of the result of a search.
public struct SearchPage: Sendable {
    public let hits: [SearchHit]
    /// The position at which the search continues; `nil` if all conversations were searched. A search ends at the limit of a request
    /// too, so a page may have few hits, or none, before the end.
    public let next: CataloguePosition?
}

/// A conversation whose title or messages have the text that a client searches.
public struct SearchHit: Sendable {
    public let entry: CatalogueEntry
    /// The first matching messages.
    public let matches: [Match]

    /// A message with the text.
    public struct Match: Sendable, Equatable {
        public let seq: Int64
        public let role: String
        /// The part of the message around the text.
        public let excerpt: String
    }
}
