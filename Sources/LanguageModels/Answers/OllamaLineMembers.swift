import ChatterdBasics

/// The members of a line without which clients of the first generation fail.
public struct OllamaLineMembers: OptionSet, Sendable {
    /// One bit a member.
    public let rawValue: UInt8

    /// Makes a set of its bits.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// `model`, a string.
    public static let model = OllamaLineMembers(rawValue: 1)
    /// `created_at`, a string.
    public static let createdAt = OllamaLineMembers(rawValue: 2)
    /// `message`, an object.
    public static let message = OllamaLineMembers(rawValue: 4)
    /// `message.role`, a string.
    public static let role = OllamaLineMembers(rawValue: 8)
    /// `message.content`, a string or null.
    public static let content = OllamaLineMembers(rawValue: 16)
    /// All of them.
    public static let all: OllamaLineMembers = [.model, .createdAt, .message, .role, .content]
}
