/// `ChatterClient.Prompt` under a name that no other library has.
public typealias ChatterPrompt = Prompt
/// `ChatterClient.ToolCall` under a name that no other library has.
public typealias ChatterToolCall = ToolCall
/// `ChatterClient.Message` under a name that no other library has.
public typealias ChatterMessage = Message

/// Qualified names, for files that import another library with types of the same names. (The module's name cannot qualify them, because
/// this type has it too.)
extension ChatterClient {
    public typealias Prompt = ChatterPrompt
    public typealias ToolCall = ChatterToolCall
    public typealias Message = ChatterMessage
}
