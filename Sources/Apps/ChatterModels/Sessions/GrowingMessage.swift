/// The message that a model is generating. A piece is added without a copy of the rest, unless a copy of `text` or `message` exists.
struct GrowingMessage: Sendable {
    /// The text so far.
    private(set) var text = ""
    /// All but the text.
    private var rest = AIMessage()

    /// The message so far.
    var message: AIMessage {
        var message = rest
        if !text.isEmpty { message.chunks.insert(.text(text), at: 0) }
        return message
    }

    mutating func apply(_ event: GenerationEvent) {
        switch event {
        case .identified(let id): rest.id = id
        case .text(let piece): text += piece
        case .reasoning(let piece): rest.reasoning += piece
        case .toolCall(let call): rest.chunks.append(.toolCall(call))
        case .reset: (text, rest) = ("", AIMessage(id: rest.id))
        case .waiting, .finished: break
        }
    }
}
