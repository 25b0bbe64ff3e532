extension Conversation {
    /// A name that no conversation has: 16 random lower-case letters and digits. A prompt with it begins a conversation, also if the
    /// server cannot be reached at first.
    public static func randomName() -> String {
        let characters = Array("abcdefghijklmnopqrstuvwxyz0123456789")
        return String((0..<16).map { _ in characters[Int.random(in: 0..<characters.count)] })
    }
}
