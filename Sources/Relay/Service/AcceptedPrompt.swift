import ChatterdBasics
import ChatterdLanguageModels

/// The result of accepting a prompt.
public enum AcceptedPrompt {
    /// The prompt is committed. The caller runs the reply.
    case started(Reply)
    /// The same request was accepted before.
    case known(ReplyRecord)
}
