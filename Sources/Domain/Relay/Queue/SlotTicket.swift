import ChatterdChat
import ChatterdIdentity

/// The ticket of a reply for a slot of a model server.
public struct SlotTicket: Sendable, Hashable {
    /// The name of the model server.
    public var upstream: String
    /// The number of answers that the server generates at once.
    public var slots: Int
    public var reply: ReplyID
    /// The owner who shares the slots fairly with the others: for a reply the beginning of the keys of the owner's conversations
    /// (`Owner.keyPrefix`), for a request outside of conversations that text behind `passedMark`.
    public var owner: String

    /// The beginning of the owner of a request outside of conversations, which no key of a conversation has. These requests of an
    /// owner share slots apart from the owner's replies.
    public static let passedMark = "\u{1F}"

    public init(upstream: String, slots: Int, reply: ReplyID, owner: String) {
        self.upstream = upstream
        self.slots = slots
        self.reply = reply
        self.owner = owner
    }

    /// The key of the ticket.
    public var key: SlotKey { SlotKey(upstream: upstream, reply: reply) }

    /// The owner of a request outside of conversations; `nil` for a request without an owner.
    static func passed(by owner: Owner?) -> String { passedMark + (owner?.keyPrefix ?? "") }
}
