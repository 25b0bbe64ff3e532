#if canImport(FoundationEssentials)
    public import struct FoundationEssentials.Data
#else
    public import struct Foundation.Data
#endif

/// A function that a model may call. A tool whose results have several forms returns a `Prompt`.
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
    /// The form of the arguments, an object; by default that of their type.
    static var parameters: Schema { get }

    func call(arguments: Arguments) async throws -> Output
}

extension Tool {
    public var name: String { "\(Self.self)" }

    public static var parameters: Schema { Arguments.schema }

    /// The description of the tool for a model.
    public var toolDescription: ToolDescription {
        ToolDescription(name: name, description: description, parameters: Self.parameters)
    }

    /// Runs a call of a model, as a session does: for tests of a tool, and for a loop of your own. The name of the call is not checked.
    ///
    /// - Throws: `LLMError.schemaViolation` for arguments of another form than `Arguments`, or an error of the tool.
    public func output(for call: ToolCall) async throws -> ToolOutput {
        let output = try await self.call(arguments: Arguments(checking: call.arguments))
        return ToolOutput(id: call.id, toolName: call.toolName, output)
    }

    /// Calls the tool with arguments in JSON.
    ///
    /// - Throws: `LLMError.notJSON`, `LLMError.schemaViolation`, or an error of the tool.
    public func call(_ data: Data) async throws -> Output {
        let arguments: StructuredContent
        do throws(JSONFault) {
            arguments = try StructuredContent(json: Array(data))
        } catch {
            throw LLMError.notJSON(error, answer: String(decoding: data, as: UTF8.self))
        }
        return try await call(arguments: Arguments(checking: arguments))
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
