#if canImport(FoundationEssentials)
    public import struct FoundationEssentials.Date
#else
    public import struct Foundation.Date
#endif

/// A conversation in the list.
public struct Conversation: Sendable, Hashable, Decodable {
    /// A message that has a searched text.
    public struct Match: Sendable, Hashable, Decodable {
        public let seq: Int
        public let role: String
        public let excerpt: String
    }

    /// The name, unique among those of its owner.
    public let name: String
    /// The given title, or the first words.
    public let title: String?
    public let createdAt: Date
    public let updatedAt: Date
    public let isArchived: Bool
    /// Whether an answer is being generated.
    public let isRunning: Bool
    /// In a search: some of the messages that have the text.
    public let matches: [Match]?

    enum CodingKeys: String, CodingKey {
        case name = "conversation"
        case title, createdAt, updatedAt, matches
        case isArchived = "archived"
        case isRunning = "running"
    }
}
