/// The messages of a session, with the one that is being generated. `Codable`, so that a session can be stored and restored: stored
/// transcripts have a version, and those of older versions of this library stay readable.
public struct Transcript: Sendable, Hashable {
    /// The messages that are complete, and those of the reply that is under way.
    public internal(set) var messages: [Message]
    /// The message that the model is generating; `nil` between requests.
    public internal(set) var growing: AIMessage?

    public init(messages: [Message] = []) {
        self.messages = messages
    }
}

extension Transcript: Codable {
    /// The version of stored transcripts. Version 0, of the library before 0.2, has no number.
    private static let version = 1

    private enum CodingKeys: String, CodingKey {
        case version, messages
    }

    /// - Throws: `DecodingError`, for a transcript of a later version too.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let version = try container.decodeIfPresent(Int.self, forKey: .version) ?? 0
        guard version <= Self.version else {
            throw DecodingError.dataCorruptedError(
                forKey: .version, in: container,
                debugDescription: "a later version of the library stored this transcript (version \(version))")
        }
        self.init(messages: try container.decode([Message].self, forKey: .messages))
    }

    /// Encodes the messages that are complete.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(Self.version, forKey: .version)
        try container.encode(messages, forKey: .messages)
    }
}
