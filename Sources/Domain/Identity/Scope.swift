/// A kind of requests that a credential permits.
public enum Scope: String, Sendable, Hashable, CaseIterable, Comparable {
    /// Prompts, and changes of conversations.
    case chat
    /// Reading conversations and replies.
    case read
    /// Making client tokens and signed links for people of the app.
    case tokens
    /// Keys of apps, and the list of model servers.
    case admin

    public static func < (left: Scope, right: Scope) -> Bool { left.rawValue < right.rawValue }
}
