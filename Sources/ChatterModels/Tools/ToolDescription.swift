/// The description of a tool for a model.
public struct ToolDescription: Sendable, Hashable {
    public var name: String
    public var description: String
    /// The form of the arguments: an object.
    public var parameters: Schema

    public init(name: String, description: String, parameters: Schema) {
        self.name = name
        self.description = description
        self.parameters = parameters
    }
}
