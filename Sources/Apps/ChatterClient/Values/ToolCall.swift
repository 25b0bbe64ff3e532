/// A call of a tool by the model.
public struct ToolCall: Sendable, Hashable, Codable {
    /// The function and its arguments.
    public struct Function: Sendable, Hashable, Codable {
        public let name: String
        /// As a rule an object; some model servers send its text.
        public let arguments: JSONValue?
    }

    /// The id that the message with the result names; `nil` if the model server gives none.
    public let id: String?
    public let function: Function

    public init(id: String?, name: String, arguments: JSONValue?) {
        self.id = id
        function = Function(name: name, arguments: arguments)
    }
}
