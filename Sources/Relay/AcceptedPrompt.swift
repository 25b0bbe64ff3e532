import ChatterdBasics
import ChatterdLanguageModels

/// What came of a prompt.
public enum AcceptedPrompt {
    /// It is committed; the reply is to be run.
    case started(Reply)
    /// It was accepted before.
    case known(ReplyRecord)
}
