import ChatterdBasics

/// Who speaks in a message, as far as it matters for what may be left out.
public enum MessageRole: Sendable {
    /// Who says how the model is to behave: `system`, or `developer`.
    case system
    /// Who asks.
    case user
    /// A tool that was called.
    case tool
    /// The model, or whatever else models know.
    case other

    /// Reads a role.
    public init(_ text: Span<UInt8>) {
        switch text.count {
        case 4: self = text.isEqual(to: "user") ? .user : text.isEqual(to: "tool") ? .tool : .other
        case 6: self = text.isEqual(to: "system") ? .system : .other
        case 9: self = text.isEqual(to: "developer") ? .system : .other
        default: self = .other
        }
    }
}
