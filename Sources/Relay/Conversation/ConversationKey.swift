import ChatterdLanguageModels

/// The key of a conversation: the app that owns it, and its name among the app's conversations.
///
/// The store keeps a key as one text, the `appid` of its rows. The default conversation has the app's name, as in databases without
/// named conversations; the text of any other key is `app U+001F U+001F name`. Names have no control characters, so different keys have
/// different texts, and all conversations of an app are found by a prefix. The part between the separators is reserved for a person
/// of the app (docs/decisions/0026-names-of-conversations.md).
public struct ConversationKey: Sendable, Hashable {
    private static let separator = "\u{1F}"

    /// The name of the app.
    public let app: String
    /// The name of the conversation; for the default conversation the name of the app.
    public let name: String

    /// Creates a key.
    ///
    /// - Parameter name: `nil` for the default conversation.
    public init(app: String, name: String? = nil) {
        self.app = app
        self.name = name ?? app
    }

    /// Parses the text of a key. Any text without the separator is the name of an app.
    public init(parsing text: String) {
        let parts = text.split(separator: Self.separator, maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3 else {
            self.init(app: text)
            return
        }
        self.init(app: String(parts[0]), name: String(parts[2]))
    }

    /// Whether this is the default conversation of the app.
    public var isDefault: Bool { name == app }

    /// The text of the key in the store.
    public var text: String {
        isDefault ? app : "\(app)\(Self.separator)\(Self.separator)\(name)"
    }

    /// Whether a text can be part of a key: it has no separator.
    public static func isName(_ text: String) -> Bool { !text.contains(separator) }
}

extension ChatRequest {
    /// The key of its conversation.
    public var conversationKey: ConversationKey { ConversationKey(app: appID, name: conversation) }
}
