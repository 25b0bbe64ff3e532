import ChatterdBasics

/// The owner of conversations: an app, or a person of an app.
///
/// The store keeps the owner as the beginning of the key of each conversation (docs/decisions/0026-names-of-conversations.md).
public struct Owner: Sendable, Hashable {
    /// The limit of an app's name, in Unicode scalars, which are PostgreSQL's characters.
    public static let maximumAppLength = 155
    /// The limit of a person's name, in Unicode scalars.
    public static let maximumPersonLength = 255

    /// The separator of the parts of a key. Names do not contain it.
    static let separator = "\u{1F}"
    /// The separator as UTF-8.
    static let separatorByte: UInt8 = 0x1F

    /// The name of the app, its `appID`.
    public let app: String
    /// The name of the person, an opaque text that the app chooses; `nil` for conversations of the app itself.
    public let person: String?

    /// Creates an owner.
    public init(app: String, person: String? = nil) {
        self.app = app
        self.person = person
    }

    /// The text of the owner's default conversation in the store.
    public var defaultKey: String {
        guard let person else { return app }
        return app + Self.separator + person + Self.separator
    }

    /// The text with which the keys of all other conversations of the owner begin.
    public var keyPrefix: String { app + Self.separator + (person ?? "") + Self.separator }

    /// Compares the bytes of the names: names that only look the same are different owners.
    public static func == (left: Owner, right: Owner) -> Bool {
        ExactText(left.app) == ExactText(right.app)
            && left.person.map(ExactText.init) == right.person.map(ExactText.init)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(ExactText(app))
        hasher.combine(person.map(ExactText.init))
    }

    /// Whether a text can be part of a key: it has no control characters.
    public static func isName(_ text: String) -> Bool {
        !text.unicodeScalars.contains { $0.value < 0x20 || 0x7F...0x9F ~= $0.value }
    }
}
