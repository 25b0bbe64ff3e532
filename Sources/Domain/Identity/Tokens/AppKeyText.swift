import ChatterdBasics

/// The text of an app key: `chatterd_`, the id in 16 hexadecimal digits, `_`, and the secret in 43 characters of base64url.
///
/// The id is not secret: it finds the key's row, and stands in lists and logs. The secret is never shown.
public struct AppKeyText: Sendable {
    /// The beginning of all app keys, by which people and scanners of secrets recognise them.
    public static let prefix = "chatterd_"
    /// The number of bytes of an id.
    public static let idSize = 8
    /// The number of bytes of a secret.
    public static let secretSize = 32
    /// The number of bytes of the text.
    public static let length = prefix.utf8.count + 2 * idSize + 1 + 43

    /// The id: 16 hexadecimal digits.
    public let id: String
    /// The 32 random bytes that only the owner of the key has. The store has their digest.
    public let secret: [UInt8]

    /// Composes a key; `nil` unless the id has 8 bytes, and the secret 32.
    public init?(id: [UInt8], secret: [UInt8]) {
        guard id.count == Self.idSize, secret.count == Self.secretSize else { return nil }
        self.id = String(hexadecimal: id)
        self.secret = secret
    }

    /// Parses a key; `nil` for any other text.
    public init?(parsing text: String) {
        let bytes = Array(text.utf8.prefix(Self.length + 1))
        guard bytes.count == Self.length, Self.hasPrefix(text) else { return nil }
        let rest = bytes.dropFirst(Self.prefix.utf8.count)
        let id = rest.prefix(2 * Self.idSize)
        guard id.allSatisfy({ $0.hexDigitValue != nil && !(UInt8(ascii: "A")...UInt8(ascii: "F") ~= $0) }),
            rest.dropFirst(id.count).first == UInt8(ascii: "_"),
            let secret = Base64URL.decode(Array(rest.dropFirst(id.count + 1)))
        else { return nil }
        self.id = String(decoding: id, as: UTF8.self)
        self.secret = secret
    }

    /// Whether a text begins like an app key, so that it is meant for chatterd, and is refused if it is none.
    public static func hasPrefix(_ text: String) -> Bool {
        text.utf8.starts(with: prefix.utf8)
    }

    /// The whole text: a secret.
    public var text: String { "\(Self.prefix)\(id)_\(Base64URL.encode(secret))" }
}

extension AppKeyText: CustomStringConvertible, CustomReflectable {
    /// The beginning of the text up to the id.
    public var description: String { "\(Self.prefix)\(id)" }

    /// The id only, so that `dump` does not show the secret.
    public var customMirror: Mirror { Mirror(self, children: ["id": id]) }
}
