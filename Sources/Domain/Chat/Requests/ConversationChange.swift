import ChatterdBasics

/// A request of an app to change a conversation in part.
public struct ConversationChange: Sendable, Equatable {
    /// The change of the title.
    public enum Title: Sendable, Equatable {
        case unchanged
        /// The conversation has no title any more.
        case removed
        case set(String)
    }

    public var title = Title.unchanged
    /// Whether the conversation is archived; `nil` for no change.
    public var isArchived: Bool?

    /// Creates a change of the title.
    public init(title: Title) {
        self.title = title
    }

    /// Decodes a body. A title that is null is removed; `archived` that is null counts as absent.
    ///
    /// - Throws: the first problem that is found; `missing` if the body has no change.
    public init(decoding body: Span<UInt8>) throws(ChatRequestError) {
        let members = try RequestMembers(of: body, only: ["title", "archived"])
        if let range = members.value("title", in: body) {
            title = .set(try ConversationTitle.decode(body.extracting(range)))
        } else if members["title"] != nil {
            title = .removed
        }
        if let range = members.value("archived", in: body) {
            isArchived = try ChatRequestField("archived", body.extracting(range)).boolean()
        }
        guard title != .unchanged || isArchived != nil else { throw .missing("title or archived") }
    }
}
