import ChatterdChat

/// The turns of a history behind its first system messages, newest first.
struct TurnsBackwards: IteratorProtocol {
    /// Adjacent messages that are sent or left out together.
    struct Messages {
        /// The index of the first message.
        var start: Int
        /// The number (`seq`) of the first message.
        var firstNumber: Int64
        var size: PromptSize
    }

    private let messages: EncodedConversation
    private let head: Int
    private var end: Int

    init(_ messages: EncodedConversation, head: Int) {
        self.messages = messages
        self.head = head
        end = messages.count
    }

    mutating func next() -> Messages? {
        guard end > head else { return nil }
        var start = end - 1
        var first = messages[start]
        var size = PromptSize(of: messages, at: start)
        while start > head {
            let older = messages[start - 1]
            if EncodedMessage.startsTurn(first.turn, first.role, after: older.turn, older.role) { break }
            start -= 1
            first = older
            size.add(PromptSize(of: messages, at: start))
        }
        end = start
        return Messages(start: start, firstNumber: first.seq, size: size)
    }
}

extension PromptSize {
    /// The size of one message of a conversation.
    init(of messages: EncodedConversation, at index: Int) {
        let message = messages[index]
        self.init(bytes: messages.byteCount(at: index) - message.imageBytes, messages: 1)
        images = Int(message.images)
    }
}
