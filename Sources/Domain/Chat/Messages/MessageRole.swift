import ChatterdBasics

/// The role of a message, as far as history fitting distinguishes roles.
public enum MessageRole: Sendable {
    /// Instructions for the model: `system`, or `developer`.
    case system
    /// The user.
    case user
    /// The result of a tool.
    case tool
    /// The model, or any other role.
    case other

    /// Parses a role.
    public init(_ text: Span<UInt8>) {
        switch text.count {
        case 4: self = text.isEqual(to: "user") ? .user : text.isEqual(to: "tool") ? .tool : .other
        case 6: self = text.isEqual(to: "system") ? .system : .other
        case 9: self = text.isEqual(to: "developer") ? .system : .other
        default: self = .other
        }
    }
}
