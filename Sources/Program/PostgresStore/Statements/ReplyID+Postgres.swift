import ChatterdPostgres
import ChatterdRelay

extension Parameter {
    /// The id of a reply or a process.
    static func uuid(_ id: ReplyID) -> Parameter { .uuid(high: id.high, low: id.low) }

    /// The ids of replies.
    static func uuidArray(_ ids: [ReplyID]) -> Parameter { .uuidArray(ids.map { ($0.high, $0.low) }) }
}

extension Row {
    /// Reads the id of a reply or a process that the server sent in binary; zero for NULL.
    mutating func nextReplyID() -> ReplyID {
        let (high, low) = nextUUID() ?? (0, 0)
        return ReplyID(high: high, low: low)
    }
}

extension ReplyID {
    /// The SQL of a new id in a partition, as `init(in:using:)` makes it.
    static func newSQL(in partition: String) -> String {
        """
        overlay(overlay(gen_random_uuid()::text PLACING lpad(to_hex(\(partition)), 2, '0') FROM 1 FOR 2) PLACING '8' FROM 15 FOR 1)::uuid
        """
    }
}
