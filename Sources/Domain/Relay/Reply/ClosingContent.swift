import ChatterdChat

/// The content that the close of a reply asks the store to keep. After each permanent refusal the reply asks for less.
enum ClosingContent {
    /// The actual ending with the text.
    case whole(ReplyEnding)
    /// The text of a complete answer, with an error that says that the answer was not stored.
    case marked(ReplyEnding)
    /// The ending without the text.
    case ending(ReplyEnding)

    var ending: ReplyEnding {
        switch self {
        case .whole(let ending), .marked(let ending), .ending(let ending): ending
        }
    }

    /// The next smaller content after a refusal; `nil` after the smallest.
    func reduced(after error: RelayError, model: String, at timeOfDay: Int64) -> ClosingContent? {
        switch self {
        case .whole(let ending) where ending.state == .complete:
            let failure = RelayError(
                .replyNotStored, "The answer could not be stored. Ask again.", detail: error.detail)
            return .marked(ReplyEnding(failure, model: model, at: timeOfDay))
        case .whole(let ending), .marked(let ending): return .ending(ending)
        case .ending: return nil
        }
    }
}
