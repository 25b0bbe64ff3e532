/// An event for the channel of FoundationModels, in types that exist on all systems. Each names its entry.
public enum ProviderEvent: Sendable, Hashable {
    case appendText(String, entry: String)
    case appendReasoning(String, entry: String)
    /// A whole call of a tool; the arguments are JSON.
    case toolCall(id: String, name: String, arguments: String, entry: String)
    /// The tokens of the whole request.
    case usage(promptTokens: Int, answerTokens: Int, entry: String)
}
