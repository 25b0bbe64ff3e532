import ChatterdIdentity
import ChatterdPostgres
import ChatterdRelay

/// The end of a reply of which a hook is to be told.
public struct StoredDelivery: Sendable {
    public let id: ReplyID
    /// The name of the hook.
    public let hook: String
    public let conversation: ConversationKey
    let number: Int64
    public let reply: ReplyID
    /// How the reply has ended, as it is stored.
    public let state: String
    /// The number of attempts, this one included.
    public let attempts: Int
    /// Whether no attempt follows.
    public let isLast: Bool
    /// When the reply has ended, in microseconds since 1970.
    public let createdAt: Int64

    /// What is stored of the reply.
    public struct Reply: Sendable {
        public let model: String
        /// The data of its last event; empty if it has none.
        public let lastEvent: [UInt8]
        /// In UTF-8; empty if it was not asked for.
        public let text: [UInt8]
    }
}

/// The ends of replies of which hooks are to be told. Confined to the shard of its pool.
public struct DeliveryStore: Sendable {
    private let pool: PostgresPool

    public init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Takes deliveries to a hook that are due. Each is due again after a pause, which grows with the attempts, unless it is removed.
    public func take(limit: Int, for hook: String) async throws(PostgresError) -> [StoredDelivery] {
        Array(try await pool.run(DeliveryStatements.take(limit: limit, for: hook)))
    }

    /// Removes the deliveries that no process has taken for three days.
    ///
    /// - Returns: their number.
    public func removeForgotten() async throws(PostgresError) -> Int {
        try await pool.run(DeliveryStatements.removeForgotten).affectedRows
    }

    /// The reply of a delivery; `nil` if its conversation is gone.
    public func reply(of delivery: StoredDelivery, withText: Bool) async throws(PostgresError) -> StoredDelivery.Reply?
    {
        try await pool.run(DeliveryStatements.reply(of: delivery, withText: withText)).first
    }

    /// Removes a delivery that a hook has, or that none wants.
    public func remove(_ delivery: StoredDelivery) async throws(PostgresError) {
        _ = try await pool.run(DeliveryStatements.remove(delivery))
    }
}
