import ChatterdBasics
import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay

/// Reads the feeds of conversations. Confined to its shard.
public final class FeedReader: Sendable {
    /// The number of changes of titles that a conversation keeps for its feeds.
    public static let loggedChanges = 256
    /// The limit of a page, in events, and in bytes of their texts; it has at least one event.
    public static let pageEvents = 100
    public static let pageBytes = 65_536

    private let pool: PostgresPool

    /// Creates a reader on connections for large results.
    public init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Reads the next piece of a feed.
    ///
    /// - Parameters:
    ///   - position: the position of the reader; `nil` if it has none.
    ///   - isOpen: whether the feed has followed the conversation before, on this connection.
    /// - Throws: `storeUnavailable`.
    public func page(
        of key: ConversationKey, after position: FeedPosition?, isOpen: Bool
    ) async throws(RelayError) -> FeedPage {
        guard let position else { return try await begin(key, from: nil, isOpen: isOpen) }
        let found = try await pool.runForRelay(
            FeedStatements.events(of: key, after: position, limit: Self.pageEvents, bytes: Self.pageBytes))
        let step = FeedStep(from: position, of: found.first?.head, isOpen: isOpen)
        guard step == .events, let first = found.first else {
            if step == .deleted { return Self.deleted }
            return try await begin(key, from: position, isOpen: isOpen)
        }
        var behind = position
        var events: [FeedEvent] = []
        for row in found {
            guard let event = row.event else { continue }
            behind.revision = event.revision
            behind.number = max(behind.number, event.added)
            events.append(FeedEvent(position: behind, change: event.change))
        }
        let hasMore = first.count > events.count
        if !hasMore {
            // Revisions without an event are behind it too.
            behind.revision = max(behind.revision, first.head.revision)
        }
        return FeedPage(step: .events, position: behind, events: events, state: nil, hasMore: hasMore)
    }

    /// The present state, for a reader without a position, or with one from which it cannot continue.
    private func begin(
        _ key: ConversationKey, from position: FeedPosition?, isOpen: Bool
    ) async throws(RelayError) -> FeedPage {
        guard let state = try await pool.runForRelay(FeedStatements.state(of: key)).first else {
            return Self.deleted
        }
        var step = FeedStep(from: position, of: state.head, isOpen: isOpen)
        if step == .deleted { return Self.deleted }
        if step == .events { step = .reset(.unknown) }
        let position = FeedPosition(epoch: state.head.epoch, revision: state.head.revision, number: state.last)
        return FeedPage(
            step: step, position: position, events: [],
            state: FeedState(
                position: position, name: key.name, title: state.title, isArchived: state.isArchived,
                running: state.running.split(separator: ",").compactMap { ReplyID(parsing: String($0)) }),
            hasMore: false)
    }

    private static let deleted = FeedPage(step: .deleted, position: nil, events: [], state: nil, hasMore: false)

    /// The heads of some conversations; none for one that does not exist.
    ///
    /// - Throws: `storeUnavailable`.
    public func heads(
        of conversations: [ConversationKey]
    ) async throws(RelayError) -> [ConversationKey: FeedHead] {
        var heads: [ConversationKey: FeedHead] = [:]
        for row in try await pool.runForRelay(FeedStatements.heads(of: conversations)) {
            heads[row.conversation] = row.head
        }
        return heads
    }
}

/// The next piece of a feed.
public struct FeedPage: Sendable {
    /// The next step of the feed.
    public let step: FeedStep
    /// The position behind the page; `nil` if the conversation does not exist.
    public let position: FeedPosition?
    /// The events in their order; empty unless the step is `events`.
    public let events: [FeedEvent]
    /// The state with which the reader begins; `nil` unless the step is `start` or `reset`.
    public let state: FeedState?
    /// Whether further events are stored.
    public let hasMore: Bool
}
