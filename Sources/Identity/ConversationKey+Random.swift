extension ConversationKey {
    /// The number of characters of a name that the server makes.
    static let randomNameLength = 12

    /// A name for a new conversation: lower-case letters and digits (62 random bits).
    public static func randomName(using generator: inout some RandomNumberGenerator) -> String {
        let characters = Array("abcdefghijklmnopqrstuvwxyz0123456789")
        return String(
            (0..<randomNameLength).map { _ in characters[Int.random(in: characters.indices, using: &generator)] })
    }
}
