import ChatterdBasics

/// The members of a line without which clients of the first generation fail.
public struct AnswerLineMembers: OptionSet, Sendable {
    /// One bit for each member.
    public let rawValue: UInt8

    /// Creates a set from its bits.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// `model`, a string.
    public static let model = AnswerLineMembers(rawValue: 1)
    /// `created_at`, a string.
    public static let createdAt = AnswerLineMembers(rawValue: 2)
    /// `message`, an object.
    public static let message = AnswerLineMembers(rawValue: 4)
    /// `message.role`, a string.
    public static let role = AnswerLineMembers(rawValue: 8)
    /// `message.content`, a string or null.
    public static let content = AnswerLineMembers(rawValue: 16)
    /// All of them.
    public static let all: AnswerLineMembers = [.model, .createdAt, .message, .role, .content]
}
