/// The model asks for the result of a tool.
public struct ToolCall: Sendable, Hashable, Codable {
    /// The name of the call, which its output repeats.
    public var id: String
    public var toolName: String
    public var arguments: StructuredContent

    public init(id: String, toolName: String, arguments: StructuredContent) {
        self.id = id
        self.toolName = toolName
        self.arguments = arguments
    }
}

extension ToolCall: CustomStringConvertible {
    /// The call as one writes it: `WeatherTool({"location":"Rome"})`.
    public var description: String { "\(toolName)(\(arguments.json))" }
}
