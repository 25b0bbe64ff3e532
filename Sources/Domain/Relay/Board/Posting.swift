import ChatterdBasics

/// The body of `POST /postchatt`: `{"name":...,"message":...}`. Clients of 2025 send `username` in place of `name`.
public struct Posting {
    /// The longest name, in characters.
    public static let nameLimit = 155
    /// The maximum size of a name in bytes of UTF-8, because a character may have any number of combining marks.
    public static let nameBytesLimit = 1_024
    /// The maximum size of a message in bytes of UTF-8.
    public static let messageLimit = 16 * 1_024

    /// The author's name.
    public let name: String
    /// The text.
    public let message: String

    /// Decodes a body. A member of another type counts as missing.
    ///
    /// - Throws: `invalidRequest` with the rule that the body breaks.
    public init(decoding body: Span<UInt8>) throws(RelayError) {
        let name: String?
        let message: String?
        do throws(JSONError) {
            (name, message) = try Self.members(of: body)
        } catch {
            throw RelayError(.invalidRequest, "The body is not a JSON object with name and message: \(error)")
        }
        guard let name, !name.isEmpty, name.utf8.count <= Self.nameBytesLimit, name.count <= Self.nameLimit else {
            throw RelayError(
                .invalidRequest,
                "name (or username) must be a string of 1 to \(Self.nameLimit) characters and at most "
                    + "\(Self.nameBytesLimit) bytes.")
        }
        guard let message else {
            throw RelayError(.invalidRequest, "message must be a string.")
        }
        guard message.utf8.count <= Self.messageLimit else {
            throw RelayError(
                .invalidRequest,
                "message has \(message.utf8.count) bytes, and may have \(Self.messageLimit). Shorten it.")
        }
        self.name = name
        self.message = message
    }

    private static func members(of body: Span<UInt8>) throws(JSONError) -> (name: String?, message: String?) {
        var members: (name: String?, message: String?)
        try JSONReader.validate(body)
        var reader = JSONReader(body)
        try reader.beginObject()
        while let key = try reader.nextKey() {
            let isName = reader.matches(key, "name") || reader.matches(key, "username")
            guard isName || reader.matches(key, "message"), try reader.kind() == .string else {
                try reader.skipValue()
                continue
            }
            let text = String(decodingJSON: body.extracting(try reader.string().range))
            if isName {
                members.name = text
            } else {
                members.message = text
            }
        }
        return members
    }
}
