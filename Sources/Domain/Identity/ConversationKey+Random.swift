extension ConversationKey {
    /// The number of characters of a name that the server makes.
    static let randomNameLength = 12

    /// A name for a new conversation: 12 random lower-case letters and digits (62 random bits).
    public static func randomName() -> String {
        randomName(of: UInt64.random(in: 0...UInt64.max))
    }

    /// The name that a number of 62 bits at least stands for.
    public static func randomName(of number: UInt64) -> String {
        let characters = Array("abcdefghijklmnopqrstuvwxyz0123456789".utf8)
        var rest = number
        let name = (0..<randomNameLength).map { _ in
            let digit = rest.quotientAndRemainder(dividingBy: UInt64(characters.count))
            rest = digit.quotient
            return characters[Int(digit.remainder)]
        }
        return String(decoding: name, as: UTF8.self)
    }
}
