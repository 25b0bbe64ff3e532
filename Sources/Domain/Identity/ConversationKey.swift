import ChatterdBasics

/// The key of a conversation: its owner, and its name among the owner's conversations.
///
/// The store keeps a key as one text, the `appid` of its rows. The default conversation of an app has the app's name, as in databases
/// without named conversations; the text of any other key is `app U+001F person U+001F name`, where a default conversation has an empty
/// name and an app itself has an empty person. Names have no control characters, so different keys have different texts, and all
/// conversations of an owner are found by a prefix (docs/decisions/0026-names-of-conversations.md).
public struct ConversationKey: Sendable, Hashable {
    /// The limit of a name, in Unicode scalars.
    public static let maximumNameLength = 155

    /// The owner of the conversation.
    public let owner: Owner
    /// The name of the conversation; for the default conversation the name of the app.
    public let name: String
    /// The text of the key in the store.
    public let text: String

    /// Creates a key.
    ///
    /// - Parameter name: `nil` for the default conversation.
    public init(_ owner: Owner, name: String? = nil) {
        let name = name ?? owner.app
        self.init(owner, name: name, text: Self.isDefault(name, of: owner) ? owner.defaultKey : owner.keyPrefix + name)
    }

    private init(_ owner: Owner, name: String, text: String) {
        self.owner = owner
        self.name = name
        self.text = text
    }

    /// Parses the text of a key, and keeps it. Any text without two separators is the name of an app.
    public init(parsing text: String) {
        // By bytes, because most keys have no separator and each request parses several.
        let bytes = text.utf8
        guard let first = bytes.firstIndex(of: Owner.separatorByte),
            let second = bytes[bytes.index(after: first)...].firstIndex(of: Owner.separatorByte)
        else {
            self.init(Owner(app: text), name: text, text: text)
            return
        }
        let person = text[bytes.index(after: first)..<second]
        let name = text[bytes.index(after: second)...]
        let owner = Owner(app: String(text[..<first]), person: person.isEmpty ? nil : String(person))
        self.init(owner, name: name.isEmpty ? owner.app : String(name), text: text)
    }

    /// The beginning of the name of the conversation of a request without an identity. Names of clients have no control characters, so no
    /// client can name such a conversation.
    static let statelessMark = "\u{1E}"

    /// The key of the conversation of a request without an identity. It exists while the request is answered, and shortly after.
    ///
    /// - Parameter owner: the owner that the request acts for; `nil` without one.
    public static func stateless(of owner: Owner?, named name: String) -> ConversationKey {
        ConversationKey(owner ?? Owner(app: ""), name: statelessMark + name)
    }

    /// Whether this is the conversation of a request without an identity.
    public var isStateless: Bool { name.hasPrefix(Self.statelessMark) }

    /// The text that lists of conversations know the owner by. No list has stateless conversations.
    public var listedOwner: String {
        isStateless ? owner.keyPrefix + Self.statelessMark : owner.keyPrefix
    }

    /// The end of the text that lists know the owner of a single request by.
    private static let singleMark = "\u{1D}"

    /// The text that the list of single requests of an owner has.
    public static func singleOwner(of owner: Owner) -> String { owner.keyPrefix + singleMark }

    /// Whether this is the default conversation of its owner.
    public var isDefault: Bool { Self.isDefault(name, of: owner) }

    private static func isDefault(_ name: String, of owner: Owner) -> Bool { ExactText(name) == ExactText(owner.app) }

    /// Compares the bytes of the texts.
    public static func == (left: ConversationKey, right: ConversationKey) -> Bool {
        ExactText(left.text) == ExactText(right.text)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(ExactText(text))
    }
}
