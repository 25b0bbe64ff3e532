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
