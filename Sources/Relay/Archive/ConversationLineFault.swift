import ChatterdBasics

/// The reason why a line of a conversation file is refused.
struct ConversationLineFault: Error, Equatable {
    /// A clause for the client, without text of the line.
    let message: String

    init(_ message: String) {
        self.message = message
    }

    init(_ error: JSONError) {
        self.init("it is not a JSON object: \(error)")
    }
}
