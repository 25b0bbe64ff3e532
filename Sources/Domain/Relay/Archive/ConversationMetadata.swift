/// The metadata of a conversation or of a response: pairs of texts, which chatterd keeps for the client.
public enum ConversationMetadata {
    public static let maximumPairs = 16
    /// The limits of a name and of a text, in Unicode scalars.
    public static let maximumName = 64
    public static let maximumText = 512

    /// Whether a pair is within the limits.
    public static func permits(_ name: String, _ text: String) -> Bool {
        name.unicodeScalars.count <= maximumName && text.unicodeScalars.count <= maximumText
    }
}
