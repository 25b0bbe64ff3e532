/// The id of a reply. An app may store it, and read the reply later, on any device.
public struct ReplyID: Sendable, Hashable {
    /// The text in the path `/replies/…`.
    public let text: String

    /// Creates an id of its text.
    public init(_ text: String) {
        self.text = text
    }

    /// The id in a `Location`; `nil` if it names no reply. A proxy may have put a prefix before the path.
    init?(location: String) {
        let path = location.prefix { $0 != "?" }
        guard let range = path.firstRange(of: "/replies/") else { return nil }
        let id = path[range.upperBound...]
        guard !id.isEmpty, !id.contains("/") else { return nil }
        text = String(id)
    }
}

extension ReplyID: Codable {
    public init(from decoder: any Decoder) throws {
        text = try decoder.singleValueContainer().decode(String.self)
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

extension ReplyID: CustomStringConvertible {
    public var description: String { text }
}
