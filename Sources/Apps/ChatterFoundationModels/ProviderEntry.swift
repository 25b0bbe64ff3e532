import ChatterModels

/// An entry of a transcript of FoundationModels.
public enum ProviderEntry: Sendable, Hashable {
    case instructions(String)
    case prompt(String)
    case reasoning(String)
    case toolCalls([ToolCall])
    case toolOutput(id: String, toolName: String, text: String)
    /// The id is that of the entry, which the executor has chosen.
    case response(id: String, text: String)
}
