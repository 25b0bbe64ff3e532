import ChatterdRelay

/// An export of a conversation as it was when the export began.
///
/// Rows are only appended, and only a running reply changes. So the rows up to the last one, with the replies closed that were running, are
/// the conversation at that moment, however long the export takes. The id of the last row shows whether the conversation is still the same:
/// every removal takes that row first, and its id does not come again.
public struct ConversationExport: Sendable {
    /// The data of the conversation.
    public let header: ConversationHeader
    let appID: String
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
