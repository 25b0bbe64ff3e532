import ChatterdBasics
import ChatterdIdentity

/// A request of an app for a new conversation.
public struct ConversationCreation: Sendable, Equatable {
    /// The name of the conversation; `nil` for one that the server makes.
    public var name: String?
    /// The title; `nil` without one.
    public var title: String?
    /// The messages with which the conversation begins.
    public var messages: [ModelMessage] = []

    /// Decodes a body, which may be empty; null counts as absent.
    ///
    /// - Throws: the first problem that is found.
    public init(decoding body: Span<UInt8>) throws(ChatRequestError) {
        if body.isEmpty { return }
        let members = try RequestMembers(of: body, only: ["conversation", "title", "messages"])
        if let range = members.value("conversation", in: body) {
            name = try ChatRequest.name("conversation", body.extracting(range), upTo: ConversationKey.maximumNameLength)
        }
        if let range = members.value("title", in: body) {
            title = try ConversationTitle.decode(body.extracting(range))
        }
        if let range = members.value("messages", in: body) {
            messages = try ChatRequest.messages(range, in: body)
        }
    }
}
