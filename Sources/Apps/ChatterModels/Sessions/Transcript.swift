/// The messages of a session, with the one that is being generated. `Codable`, so that a session can be stored and restored.
public struct Transcript: Sendable, Hashable, Codable {
    /// The messages that are complete, and those of the reply that is under way.
    public internal(set) var messages: [Message]
    /// The message that the model is generating; `nil` between requests.
    public internal(set) var growing: AIMessage?

    public init(messages: [Message] = []) {
        self.messages = messages
    }

    enum CodingKeys: String, CodingKey {
        case messages
    }
}
