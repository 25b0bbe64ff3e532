/// Why a text is not the value of a setting. Holds no secret.
public struct SettingProblem: Error, Sendable, Equatable {
    /// The problems, each in a few words that can follow the name of the variable and a colon.
    public let messages: [String]

    init(_ message: String) {
        messages = [message]
    }

    /// Creates a problem of a text with several mistakes.
    init(_ messages: [String]) {
        self.messages = messages
    }

    /// All problems in one line.
    public var message: String { messages.joined(separator: "; ") }
}
