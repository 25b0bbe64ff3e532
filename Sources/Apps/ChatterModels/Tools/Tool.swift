/// A function that a model may call.
///
///     struct WeatherTool: Tool {
///         let description = "Get current weather for a location"
///
///         struct Arguments: Generable { … }
///
///         func call(arguments: Arguments) async throws -> String {
///             "72°F, sunny in \(arguments.location)"
///         }
///     }
public protocol Tool: Sendable {
    associatedtype Arguments: Generable
    associatedtype Output: PromptRepresentable

    /// The name that the model calls; by default the name of the type.
    var name: String { get }
    /// What the tool is for, as the model reads it.
    var description: String { get }

    func call(arguments: Arguments) async throws -> Output
}

extension Tool {
    public var name: String { "\(Self.self)" }

    /// The description of the tool for a model.
    public var toolDescription: ToolDescription {
        ToolDescription(name: name, description: description, parameters: Arguments.schema)
    }

    /// Calls the tool with arguments that a model made.
    ///
    /// - Throws: `LLMError.schemaViolation`, or an error of the tool.
    func call(_ arguments: StructuredContent) async throws -> [ContentChunk] {
        try await call(arguments: Arguments(checking: arguments)).chunks
    }
}

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
